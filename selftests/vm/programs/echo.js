// SPDX-License-Identifier: GPL-2.0-only
/*
 * An echo server with Node's net, and a client that checks the echo. No socket option is set.
 *
 * Usage: echo.js server PORT | client HOST PORT CONNECTIONS BYTES
 */
"use strict";
const crypto = require("crypto");
const net = require("net");

function serve(port) {
	const server = net.createServer({ allowHalfOpen: true }, (sock) => {
		sock.on("error", (err) => console.log(`server: ${err.message}`));
		sock.pipe(sock);
	});

	server.listen(port);
}

function exchange(host, port, bytes) {
	return new Promise((resolve, reject) => {
		const sent = crypto.randomBytes(bytes);
		const got = [];
		const sock = net.connect(port, host, () => sock.end(sent));

		sock.on("data", (chunk) => got.push(chunk));
		sock.on("error", reject);
		sock.on("end", () => {
			if (sent.equals(Buffer.concat(got)))
				resolve();
			else
				reject(new Error("other bytes came back"));
		});
	});
}

const [role, ...args] = process.argv.slice(2);

if (role === "server") {
	serve(Number(args[0]));
} else {
	const [host, port, connections, bytes] = args;
	const all = [];

	for (let i = 0; i < Number(connections); i++)
		all.push(exchange(host, Number(port), Number(bytes)));
	Promise.all(all).then(() => console.log(`${all.length} echoes`), (err) => {
		console.log(`client: ${err.message}`);
		process.exitCode = 1;
	});
}
