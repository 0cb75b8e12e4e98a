import { createSocket } from "node:dgram";
import { once } from "node:events";

/** A DNS server on the loopback address with the same answer for every name. */
export interface DnsServer extends AsyncDisposable {
  port: number;
  /** Sets the IPv4 addresses of every name. */
  use(addresses: readonly string[]): void;
}

export async function startDnsServer(addresses: readonly string[]): Promise<DnsServer> {
  const socket = createSocket("udp4");
  let current = addresses;
  socket.on("message", (query, { port, address }) => socket.send(answer(query, current), port, address));
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    port: socket.address().port,
    use(next) {
      current = next;
    },
    async [Symbol.asyncDispose]() {
      socket.close();
      await once(socket, "close");
    },
  };
}

const HEAD = 12;
const TYPE_A = 1;

/** Encodes an answer (RFC 1035, 4.1): the question, followed by a record for each address. */
function answer(query: Buffer, addresses: readonly string[]): Buffer {
  // A name ends with a zero byte, followed by its type and class.
  const end = query.indexOf(0, HEAD) + 5;
  const found = query.readUInt16BE(end - 4) === TYPE_A ? addresses : [];
  const head = Buffer.alloc(HEAD);
  query.copy(head, 0, 0, 2);
  // Flags: answer, authoritative, recursion desired and available.
  head.writeUInt16BE(0x8580, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(found.length, 6);
  return Buffer.concat([head, query.subarray(HEAD, end), ...found.map(record)]);
}

/** A record: the name of the question, type A, class IN, a TTL of 0, and the address. */
function record(address: string): Buffer {
  return Buffer.from([0xc0, HEAD, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split(".").map(Number)]);
}
