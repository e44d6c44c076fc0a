// SPDX-License-Identifier: GPL-2.0-only
/*
 * An echo server, with the sockets of java.net and with those of java.nio and a selector, and
 * a client of either kind that checks the echo. No socket option and no property of the
 * virtual machine is set.
 *
 * Usage: Echo server PORT NIO_PORT | client HOST PORT CONNECTIONS BYTES | nio HOST PORT BYTES
 */
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import java.util.Iterator;
import java.util.Random;

public class Echo {
	private static void serveSockets(int port) throws Exception {
		try (ServerSocket listener = new ServerSocket(port)) {
			while (true) {
				Socket sock = listener.accept();

				new Thread(() -> {
					try (sock) {
						sock.getInputStream().transferTo(
							sock.getOutputStream());
						sock.shutdownOutput();
					} catch (Exception e) {
						System.out.println("server: " + e);
					}
				}).start();
			}
		}
	}

	private static void echoReady(SelectionKey key) throws Exception {
		SocketChannel chan = (SocketChannel) key.channel();
		ByteBuffer buf = (ByteBuffer) key.attachment();

		if (key.isReadable() && chan.read(buf) < 0) {
			buf.flip();
			while (buf.hasRemaining())
				chan.write(buf);
			chan.close();
			return;
		}
		buf.flip();
		chan.write(buf);
		buf.compact();
		key.interestOps((buf.hasRemaining() ? SelectionKey.OP_READ : 0) |
				(buf.position() > 0 ? SelectionKey.OP_WRITE : 0));
	}

	private static void serveChannels(int port) throws Exception {
		Selector selector = Selector.open();
		ServerSocketChannel listener = ServerSocketChannel.open();

		listener.bind(new InetSocketAddress(port));
		listener.configureBlocking(false);
		listener.register(selector, SelectionKey.OP_ACCEPT);
		while (true) {
			selector.select();
			Iterator<SelectionKey> it = selector.selectedKeys().iterator();

			while (it.hasNext()) {
				SelectionKey key = it.next();

				it.remove();
				if (key.isAcceptable()) {
					SocketChannel chan = listener.accept();

					chan.configureBlocking(false);
					chan.register(selector, SelectionKey.OP_READ,
						      ByteBuffer.allocateDirect(65536));
				} else {
					echoReady(key);
				}
			}
		}
	}

	private static byte[] random(int bytes) {
		byte[] sent = new byte[bytes];

		new Random().nextBytes(sent);
		return sent;
	}

	private static void check(byte[] sent, byte[] got) {
		if (!Arrays.equals(sent, got)) {
			System.out.println("client: other bytes came back");
			System.exit(1);
		}
	}

	private static void client(String host, int port, int bytes) throws Exception {
		byte[] sent = random(bytes);

		try (Socket sock = new Socket(host, port)) {
			Thread writer = new Thread(() -> {
				try {
					OutputStream out = sock.getOutputStream();

					out.write(sent);
					sock.shutdownOutput();
				} catch (Exception e) {
					System.out.println("client: " + e);
					System.exit(1);
				}
			});

			writer.start();
			InputStream in = sock.getInputStream();

			check(sent, in.readAllBytes());
			writer.join();
		}
	}

	private static void nioClient(String host, int port, int bytes) throws Exception {
		byte[] sent = random(bytes);
		ByteBuffer got = ByteBuffer.allocate(bytes);

		try (SocketChannel chan = SocketChannel.open(new InetSocketAddress(host, port))) {
			for (int at = 0; at < bytes; at += 4096) {
				ByteBuffer out = ByteBuffer.wrap(sent, at,
								 Math.min(4096, bytes - at));

				while (out.hasRemaining())
					chan.write(out);
				while (got.position() < out.limit())
					if (chan.read(got) < 0)
						throw new Exception("an early end");
			}
			chan.shutdownOutput();
			if (chan.read(ByteBuffer.allocate(1)) != -1)
				throw new Exception("bytes behind the end");
		}
		check(sent, got.array());
	}

	public static void main(String[] args) throws Exception {
		if (args[0].equals("server")) {
			new Thread(() -> {
				try {
					serveChannels(Integer.parseInt(args[2]));
				} catch (Exception e) {
					System.out.println("server: " + e);
					System.exit(1);
				}
			}).start();
			serveSockets(Integer.parseInt(args[1]));
			return;
		}
		if (args[0].equals("nio")) {
			nioClient(args[1], Integer.parseInt(args[2]), Integer.parseInt(args[3]));
			return;
		}
		for (int i = 0; i < Integer.parseInt(args[3]); i++)
			client(args[1], Integer.parseInt(args[2]), Integer.parseInt(args[4]));
	}
}
