// SPDX-License-Identifier: GPL-2.0-only
/* Requests and verdicts of the traffic tests: conversion to and from the wire. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "traffic.h"

int trf_req_send(int fd, const struct trf_req *req)
{
	struct trf_req w = {
		.magic = htobe32(TRF_MAGIC_REQ),
		.op = req->op,
		.io = req->io,
		.flags = htobe16(req->flags),
		.seed = htobe64(req->seed),
		.to_server = htobe64(req->to_server),
		.to_client = htobe64(req->to_client),
		.wsize = htobe32(req->wsize),
		.count = htobe32(req->count),
		.timeout_ms = htobe32(req->timeout_ms),
	};
	ssize_t n = tl_send_all(fd, &w, sizeof(w));

	return n < 0 ? n : 0;
}

/**
 * trf_req_recv() - read the next request of a connection
 * @fd: connected socket
 * @req: result
 *
 * Return: 1 if there is one, 0 at the end of the stream, -EBADMSG if the bytes are not from a test
 * client, -EPROTO if the request is invalid, or the error of recv().
 */
int trf_req_recv(int fd, struct trf_req *req)
{
	struct trf_req w;
	ssize_t n = tl_recv_all(fd, &w, sizeof(w));

	if (n <= 0)
		return n;
	if (n < (ssize_t)sizeof(w) || be32toh(w.magic) != TRF_MAGIC_REQ)
		return -EBADMSG;
	*req = (struct trf_req){
		.magic = TRF_MAGIC_REQ,
		.op = w.op,
		.io = w.io,
		.flags = be16toh(w.flags),
		.seed = be64toh(w.seed),
		.to_server = be64toh(w.to_server),
		.to_client = be64toh(w.to_client),
		.wsize = be32toh(w.wsize),
		.count = be32toh(w.count),
		.timeout_ms = be32toh(w.timeout_ms),
	};
	if (req->op < TRF_STREAM || req->op > TRF_PART_SERVER || req->io >= TRF_IO_NR ||
	    req->wsize > TRF_WSIZE_MAX || !req->timeout_ms)
		return -EPROTO;
	if (req->op == TRF_PINGPONG && (!req->to_server || req->to_server > TRF_MSG_MAX))
		return -EPROTO;
	return 1;
}

int trf_verdict_send(int fd, const struct trf_verdict *v)
{
	struct trf_verdict w = {
		.magic = htobe32(TRF_MAGIC_VERDICT),
		.err = htobe32(v->err),
		.bytes = htobe64(v->bytes),
		.bad_off = htobe64(v->bad_off),
		.mode = htobe32(v->mode),
		.reason = htobe32(v->reason),
		.peer_reason = htobe32(v->peer_reason),
	};
	ssize_t n = tl_send_all(fd, &w, sizeof(w));

	return n < 0 ? n : 0;
}

int trf_verdict_recv(int fd, struct trf_verdict *v)
{
	struct trf_verdict w;
	ssize_t n = tl_recv_all(fd, &w, sizeof(w));

	if (n < 0)
		return n;
	if (n < (ssize_t)sizeof(w))
		return -ECONNABORTED;
	if (be32toh(w.magic) != TRF_MAGIC_VERDICT)
		return -EBADMSG;
	*v = (struct trf_verdict){
		.magic = TRF_MAGIC_VERDICT,
		.err = be32toh(w.err),
		.bytes = be64toh(w.bytes),
		.bad_off = be64toh(w.bad_off),
		.mode = be32toh(w.mode),
		.reason = be32toh(w.reason),
		.peer_reason = be32toh(w.peer_reason),
	};
	return 0;
}
