// SPDX-License-Identifier: GPL-2.0-only
/*
 * SOCK_DESTROY: whoever may administer the namespace ends a socket that sock_diag tells of, and
 * its application learns it as one of TCP's does.
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
 * struct wanted - a socket in the list
 * @inode: its number
 * @found: how often it was told
 * @id: as what
 */
struct wanted {
	u64 inode;
	unsigned int found;
	struct inet_diag_sockid id;
};

static void take(const struct nlmsghdr *nlh, void *arg)
{
	const struct smc_diag_msg *m = mnl_nlmsg_get_payload(nlh);
	struct wanted *w = arg;

	if (m->diag_inode != w->inode)
		return;
	w->found++;
	w->id = m->id;
}

static bool find(int fd, struct inet_diag_sockid *id)
{
	struct wanted w = { 0 };
	struct ct_nl nl;
	struct stat st;
	int err;

	if (fstat(fd, &st) || ct_open(&nl, CT_DIAG, CT_BUF))
		return false;
	w.inode = st.st_ino;
	err = ct_dump(&nl, 0, take, &w);
	ct_close(&nl);
	*id = w.id;
	return !err && w.found == 1;
}

static int destroy(const struct inet_diag_sockid *id, size_t size)
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

static bool is(int got, int want, const char *what)
{
	if (got != want)
		ktap_note("%s: %s, not %s", what, got ? tl_errno_name(-got) : "0",
			  want ? tl_errno_name(-want) : "0");
	return got == want;
}

static int destroy_as_nobody(const struct inet_diag_sockid *id)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(setgid(NOBODY) || setuid(NOBODY) ? 0 :
		      -destroy(id, sizeof(struct smc_diag_req)));
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 0;
	return -WEXITSTATUS(status);
}

/* What an application finds, sooner or later; -EAGAIN: nothing for 10 s. */
static int ended_with(int fd)
{
	char byte;
	ssize_t n;

	tl_set_timeouts(fd, 10000);
	n = recv(fd, &byte, 1, 0);
	return n < 0 ? -errno : (int)n;
}

static bool passes(int from, int to)
{
	char byte = 'y';

	return tl_send_all(from, &byte, 1) == 1 && tl_recv_all(to, &byte, 1) == 1;
}

/* Nothing but the right words of the right person ends it. */
static bool refused(int fd, int peer)
{
	struct inet_diag_sockid id, other;
	bool ok;

	if (!find(fd, &id))
		return is(-ENOENT, 0, "the socket is in the list");
	ok = is(destroy_as_nobody(&id), -EPERM, "as nobody");
	other = id;
	other.idiag_cookie[0] ^= 1;
	ok &= is(destroy(&other, sizeof(struct smc_diag_req)), -ENOENT, "with another cookie");
	other = id;
	other.idiag_dport ^= 1;
	ok &= is(destroy(&other, sizeof(struct smc_diag_req)), -ENOENT, "with another port");
	other = id;
	other.idiag_src[0] ^= 1;
	ok &= is(destroy(&other, sizeof(struct smc_diag_req)), -ENOENT, "with another address");
	ok &= is(destroy(&id, sizeof(struct smc_diag_req) - 1), -EINVAL, "cut");
	memset(&other, 0, sizeof(other));
	other.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
	other.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	ok &= is(destroy(&other, sizeof(struct smc_diag_req)), -ENOENT, "whichever");
	return ok & is(passes(fd, peer) && passes(peer, fd), 1, "bytes pass");
}

/**
 * ct_destroy() - end one end of a connection by sock_diag
 * @fd: that one
 * @peer: the other one
 * @cookie: say which socket it is; else its addresses have to do
 *
 * Return: false if it did not end as TCP's would.
 */
bool ct_destroy(int fd, int peer, bool cookie)
{
	struct inet_diag_sockid id;
	bool ok = refused(fd, peer);

	if (!find(fd, &id))
		return false;
	if (!cookie) {
		id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
		id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	}
	ok &= is(destroy(&id, sizeof(struct smc_diag_req)), 0, "destroy");
	ok &= is(ended_with(fd), -ECONNABORTED, "its application");
	ok &= is(ended_with(peer), -ECONNRESET, "the peer");
	return ok;
}

/**
 * ct_destroy_listener() - end a listener by sock_diag
 * @fd: listener
 *
 * Return: false if it goes on.
 */
bool ct_destroy_listener(int fd)
{
	struct inet_diag_sockid id;

	tl_set_timeouts(fd, 10000);
	return find(fd, &id) && is(destroy(&id, sizeof(struct smc_diag_req)), 0, "destroy") &&
	       is(accept(fd, NULL, NULL) < 0 ? -errno : 0, -EINVAL, "accept");
}
