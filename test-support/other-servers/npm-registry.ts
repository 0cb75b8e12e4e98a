import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface NpmRegistry extends AsyncDisposable {
  /** For an npm that publishes to it and installs from it. */
  readonly env: Record<string, string>;
}

/** What `npm publish` sends. */
interface Publication {
  name: string;
  versions: Record<string, { dist: { tarball: string } }>;
  _attachments: Record<string, { data: string }>;
}

/** A registry on the loopback interface: it has what is published to it, and names `upstream` for everything else. */
export async function startNpmRegistry(upstream: string): Promise<NpmRegistry> {
  const documents = new Map<string, Publication>();
  const tarballs = new Map<string, Buffer>();

  async function publish(request: IncomingMessage): Promise<void> {
    const { _attachments, ...document } = JSON.parse(await text(request)) as Publication;
    documents.set(document.name, { ...document, _attachments: {} });
    for (const { dist } of Object.values(document.versions)) {
      const [attachment] = Object.values(_attachments);
      tarballs.set(new URL(dist.tarball).pathname, Buffer.from(attachment?.data ?? "", "base64"));
    }
  }

  const server = createServer(async (request, response) => {
    const path = request.url ?? "/";
    if (request.method === "PUT") {
      await publish(request);
      return void response.writeHead(201, { "content-type": "application/json" }).end("{}");
    }
    const document = documents.get(decodeURIComponent(path.slice(1)));
    if (document)
      return void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document));
    const tarball = tarballs.get(path);
    if (tarball) return void response.writeHead(200, { "content-type": "application/octet-stream" }).end(tarball);
    response.writeHead(302, { location: upstream.replace(/\/$/, "") + path }).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    env: { npm_config_registry: `http://${host}/`, [`npm_config_//${host}/:_authToken`]: "for-the-test" },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
