/** `GET /api/v1/formats`: what this installation converts into what, and with which options. */

import type { FastifyInstance } from 'fastify';
import type { Catalog } from '../../catalog/catalog.ts';
import { formatByExtension, formats } from '../../catalog/formats.ts';
import { refuseField } from '../../catalog/tool.ts';
import type { FormatList } from '../../contracts/api/formats.ts';
import type { Family } from '../../contracts/toolchains.ts';
import type { ApiDeps } from '../deps.ts';
import { type EncodedBody, encodedBody, sendEncoded } from '../http/encoded.ts';
import { describeFormats, inShort, selectFormats } from './list.ts';

/** Unknown values are refused: there are as many answers as formats and families, and each is built once. */
export function formatsRoute(app: FastifyInstance, deps: Pick<ApiDeps, 'catalog'>): void {
  const lists = new WeakMap<Catalog, { readonly list: Promise<FormatList>; readonly made: Map<string, EncodedBody> }>();
  const listOf = (catalog: Catalog) => {
    const known = lists.get(catalog) ?? { list: describeFormats(catalog), made: new Map() };
    lists.set(catalog, known);
    return known;
  };

  app.get<{ Querystring: Record<string, string | string[] | undefined> }>('/api/v1/formats', async (request, reply) => {
    const from = readFormat(asked(request.query['from']));
    const family = readFamily(asked(request.query['family']));
    const expands = readExpand(asked(request.query['expand']));
    // One source is short enough to say all.
    const isShort = from === undefined && !expands;
    const { list, made: created } = listOf(deps.catalog);
    const name = `${from} ${family} ${isShort}`;
    const shown = isShort ? inShort : (whole: FormatList) => whole;
    const body =
      created.get(name) ??
      encodedBody('application/json; charset=utf-8', JSON.stringify({ data: shown(selectFormats(await list, from, family)) }));
    created.set(name, body);
    return sendEncoded(request, reply, body);
  });
}

/** A parameter that is sent twice is refused, too. */
const asked = (sent: string | string[] | undefined): string | undefined => {
  const text = Array.isArray(sent) ? sent.join(',') : sent?.trim();
  return text === '' ? undefined : text;
};

/** @throws Failure `INVALID_OPTION` */
function readFormat(sent: string | undefined): string | undefined {
  if (sent === undefined) return undefined;
  const format = formatByExtension(sent);
  if (format === undefined) throw refuseField('from', sent, `one of ${[...formats.keys()].join(', ')}`);
  return format.id;
}

const FAMILIES: readonly string[] = [...new Set([...formats.values()].map(({ family }) => family))];

/** @throws Failure `INVALID_OPTION` */
function readFamily(sent: string | undefined): Family | undefined {
  if (sent === undefined) return undefined;
  const family = sent.toLowerCase();
  if (!FAMILIES.includes(family)) throw refuseField('family', sent, `one of ${FAMILIES.join(', ')}`);
  return family as Family;
}

/** @throws Failure `INVALID_OPTION` */
function readExpand(sent: string | undefined): boolean {
  if (sent === undefined || sent.toLowerCase() === 'options') return sent !== undefined;
  throw refuseField('expand', sent, 'options');
}
