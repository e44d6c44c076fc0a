// SPDX-License-Identifier: GPL-2.0-only
/* Check that SYN and SYN-ACK of the hostile sockets have the SMC option. */
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "evil.h"
#include "selfcheck.h"

static int sniffer_open(void)
{
	struct sockaddr_ll ll = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_IP),
		.sll_ifindex = if_nametoindex("lo"),
	};
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_IP));

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&ll, sizeof(ll)) || tl_set_timeouts(fd, 2000)) {
		close(fd);
		return -errno;
	}
	return fd;
}

/* Record the options of one connection on @port; lo shows each packet twice. */
static int sniffer_watch(int fd, unsigned int port, struct evil_syns *seen)
{
	u8 pkt[256];

	for (int i = 0; i < 200; i++) {
		ssize_t n = recv(fd, pkt, sizeof(pkt), 0);
		size_t ihl = (pkt[0] & 0x0f) * 4U;
		const u8 *tcp = pkt + ihl;

		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		if (n < (ssize_t)ihl + 20 || pkt[9] != IPPROTO_TCP)
			continue;
		if (smc_wire_get_be16(tcp) != port && smc_wire_get_be16(tcp + 2) != port)
			continue;
		if ((tcp[13] & 0x12) == 0x02)
			seen->syn |= evil_option_in_syn(tcp, n - ihl);
		else if ((tcp[13] & 0x12) == 0x12)
			seen->syn_ack |= evil_option_in_syn(tcp, n - ihl);
		else if (evil_option_in_syn(tcp, n - ihl))
			seen->other = true;
		if (tcp[13] & 0x01)
			break;
	}
	return 0;
}

/**
 * evil_selfcheck() - make a connection over loopback and check the options of its segments
 * @seen: receives the kinds of segment that had the option
 *
 * Return: 0 or a negative errno.
 */
int evil_selfcheck(struct evil_syns *seen)
{
	const struct tl_proto *tcp = tl_proto_find("inet");
	struct tl_addr at;
	int sniff, lfd, fd, err;

	memset(seen, 0, sizeof(*seen));
	tl_addr_parse(&at, tcp, "127.0.0.1", 0);
	sniff = sniffer_open();
	if (sniff < 0)
		return sniff;
	lfd = tl_listen(tcp, &at, 1);
	fd = lfd < 0 ? lfd : tl_connect(tcp, NULL, &at);
	if (fd >= 0) {
		tl_send_all(fd, "x", 1);
		close(fd);
		err = sniffer_watch(sniff, tl_addr_port(&at), seen);
	} else {
		err = fd;
	}
	if (lfd >= 0)
		close(lfd);
	close(sniff);
	return err;
}
