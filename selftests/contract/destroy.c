// SPDX-License-Identifier: GPL-2.0-only
/*
 * SOCK_DESTROY: the administrator of the namespace ends a socket that sock_diag lists, and its
 * application sees the same as that of a TCP socket.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/smc_diag.h>
#include <linux/sock_diag.h>

#include "contract.h"

#define NOBODY		65534

/**
 * struct wanted - a socket to find in the list
 * @inode: its inode number
 * @found: number of entries for it
 * @id: its ID in the list
 */
struct wanted {
	u64 inode;
	unsigned int found;
	struct inet_diag_sockid id;
};

static void socket_take(const struct nlmsghdr *nlh, void *arg)
{
	const struct smc_diag_msg *m = mnl_nlmsg_get_payload(nlh);
	struct wanted *w = arg;

	if (m->diag_inode != w->inode)
		return;
	w->found++;
	w->id = m->id;
}

static bool socket_find(int fd, struct inet_diag_sockid *id)
{
	struct wanted w = { 0 };
	struct ct_nl nl;
	struct stat st;
	int err;

	if (fstat(fd, &st) || ct_open(&nl, CT_DIAG, CT_BUF))
		return false;
	w.inode = st.st_ino;
	err = ct_dump(&nl, 0, socket_take, &w);
	ct_close(&nl);
	*id = w.id;
	return !err && w.found == 1;
}

static int socket_destroy(const struct inet_diag_sockid *id, size_t size)
{
	u64 buf[32] = { 0 };
	struct smc_diag_req *req;
	struct nlmsghdr *nlh;
	struct ct_nl nl;
	int err;

	if (ct_open(&nl, CT_DIAG, CT_BUF))
		return -ENOENT;
	nlh = ct_head(&nl, buf, 0, NLM_F_ACK);
	nlh->nlmsg_type = SOCK_DESTROY;
	nlh->nlmsg_len = MNL_NLMSG_HDRLEN + size;
	req = mnl_nlmsg_get_payload(nlh);
	req->id = *id;
	err = ct_order(&nl, nlh);
	ct_close(&nl);
	return err;
}

static bool is_errno(int got, int want, const char *what)
{
	if (got != want)
		ktap_note("%s: %s, not %s", what, got ? tl_errno_name(-got) : "0",
			  want ? tl_errno_name(-want) : "0");
	return got == want;
}

static int socket_destroy_nobody(const struct inet_diag_sockid *id)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(setgid(NOBODY) || setuid(NOBODY) ? 0 :
		      -socket_destroy(id, sizeof(struct smc_diag_req)));
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 0;
	return -WEXITSTATUS(status);
}

/* Return what recv() returns at the end; -EAGAIN: nothing for 10 s. */
static int recv_end(int fd)
{
	char byte;
	ssize_t n;

	tl_set_timeouts(fd, 10000);
	n = recv(fd, &byte, 1, 0);
	return n < 0 ? -errno : (int)n;
}

static bool byte_passes(int from, int to)
{
	char byte = 'y';

	return tl_send_all(from, &byte, 1) == 1 && tl_recv_all(to, &byte, 1) == 1;
}

/* Requests without the privilege, or for another socket, do not end it. */
static bool check_refused(int fd, int peer)
{
	struct inet_diag_sockid id, other;
	bool ok;

	if (!socket_find(fd, &id))
		return is_errno(-ENOENT, 0, "the socket is in the list");
	ok = is_errno(socket_destroy_nobody(&id), -EPERM, "as nobody");
	other = id;
	other.idiag_cookie[0] ^= 1;
	ok &= is_errno(socket_destroy(&other, sizeof(struct smc_diag_req)), -ENOENT,
		       "with another cookie");
	other = id;
	other.idiag_dport ^= 1;
	ok &= is_errno(socket_destroy(&other, sizeof(struct smc_diag_req)), -ENOENT,
		       "with another port");
	other = id;
	other.idiag_src[0] ^= 1;
	ok &= is_errno(socket_destroy(&other, sizeof(struct smc_diag_req)), -ENOENT,
		       "with another address");
	ok &= is_errno(socket_destroy(&id, sizeof(struct smc_diag_req) - 1), -EINVAL, "cut");
	memset(&other, 0, sizeof(other));
	other.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
	other.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	ok &= is_errno(socket_destroy(&other, sizeof(struct smc_diag_req)), -ENOENT, "whichever");
	return ok & is_errno(byte_passes(fd, peer) && byte_passes(peer, fd), 1, "bytes pass");
}

/**
 * ct_destroy() - end one end of a connection by sock_diag
 * @fd: this end
 * @peer: the other end
 * @cookie: identify the socket by its cookie; else by its addresses
 *
 * Return: false if the ends differ from those of TCP.
 */
bool ct_destroy(int fd, int peer, bool cookie)
{
	struct inet_diag_sockid id;
	bool ok = check_refused(fd, peer);

	if (!socket_find(fd, &id))
		return false;
	if (!cookie) {
		id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
		id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	}
	ok &= is_errno(socket_destroy(&id, sizeof(struct smc_diag_req)), 0, "destroy");
	ok &= is_errno(recv_end(fd), -ECONNABORTED, "its application");
	ok &= is_errno(recv_end(peer), -ECONNRESET, "the peer");
	return ok;
}

/**
 * ct_destroy_listener() - end a listener by sock_diag
 * @fd: listener
 *
 * Return: false if the listener is still usable.
 */
bool ct_destroy_listener(int fd)
{
	struct inet_diag_sockid id;

	tl_set_timeouts(fd, 10000);
	return socket_find(fd, &id) &&
	       is_errno(socket_destroy(&id, sizeof(struct smc_diag_req)), 0, "destroy") &&
	       is_errno(accept(fd, NULL, NULL) < 0 ? -errno : 0, -EINVAL, "accept");
}
