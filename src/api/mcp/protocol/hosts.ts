/** Refuses web pages that reach this machine by DNS rebinding, and origins that are not allowed. */
import type { FastifyRequest } from 'fastify';
import { Failure } from '../../../errors.ts';
import { isOwnHost, MAX_HOST } from '../../http/base-url.ts';
import type { ApiSettings } from '../../settings.ts';
import { isAllowedOrigin } from './protocol.ts';

/** A host with its scheme, characters. */
const MAX_ORIGIN = MAX_HOST + 32;

/** @throws Failure `FORBIDDEN` */
export function checkHosts({ headers }: FastifyRequest, { publicUrl, allowedHosts, mcp }: ApiSettings): void {
  if ((headers.host?.length ?? 0) > MAX_HOST || (headers.origin?.length ?? 0) > MAX_ORIGIN) throw new Failure('FORBIDDEN');
  const own = [...allowedHosts, ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname])];
  if (!isOwnHost(headers.host, own))
    throw new Failure('FORBIDDEN', { says: 'The service does not answer to the host name of this request: see ALLOWED_HOSTS.' });
  if (!isAllowedOrigin(headers.origin, mcp.origins))
    throw new Failure('FORBIDDEN', { says: 'The service does not answer web pages of this origin.' });
}
