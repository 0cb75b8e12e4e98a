import { createSocket } from "node:dgram";
import { once } from "node:events";

/** A DNS server on the loopback address that answers for every name alike. */
export interface DnsServer extends AsyncDisposable {
  port: number;
  /** The IPv4 addresses that every name has from now on. */
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

/** As RFC 1035 has it (4.1): the question comes back, and after it a record for each address. */
function answer(query: Buffer, addresses: readonly string[]): Buffer {
  // A name ends with a byte of zero; its type and class follow.
  const end = query.indexOf(0, HEAD) + 5;
  const found = query.readUInt16BE(end - 4) === TYPE_A ? addresses : [];
  const head = Buffer.alloc(HEAD);
  query.copy(head, 0, 0, 2);
  // An answer, authoritative, recursion wished for and available.
  head.writeUInt16BE(0x8580, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(found.length, 6);
  return Buffer.concat([head, query.subarray(HEAD, end), ...found.map(record)]);
}

/** The name of the question, type A, class IN, to be kept for no time, and four bytes. */
function record(address: string): Buffer {
  return Buffer.from([0xc0, HEAD, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split(".").map(Number)]);
}
