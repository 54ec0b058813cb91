/** The server card: describes `/mcp` to clients before they connect (SEP-2127, and the address that was customary before it). */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ApiDeps } from '../../deps.ts';
import { baseOf } from '../../jobs/send.ts';
import { HANDSHAKE_VERSIONS, STATELESS_VERSION } from './protocol.ts';

const ADDRESSES = ['/.well-known/mcp/server-card.json', '/.well-known/mcp/server-card', '/mcp/server-card'];

export function serveCard(app: FastifyInstance, deps: Pick<ApiDeps, 'service'>): void {
  const card = async (request: FastifyRequest) => ({
    $schema: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json',
    name: 'io.filemill/filemill',
    title: 'filemill',
    description: 'Converts and processes images, audio, video, documents and PDFs.',
    version: deps.service.version,
    remotes: [
      {
        type: 'streamable-http',
        url: `${baseOf(request, deps)}/mcp`,
        supportedProtocolVersions: [STATELESS_VERSION, ...HANDSHAKE_VERSIONS],
      },
    ],
  });
  for (const url of ADDRESSES) app.get(url, { config: { costs: 'nothing' } }, card);
}
