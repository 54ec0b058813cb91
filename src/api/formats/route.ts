/** `GET /api/v1/formats`: what this installation converts into what, and with which options; of one pair also by which steps. */

import type { FastifyInstance } from 'fastify';
import type { Catalog } from '../../catalog/catalog.ts';
import { formatByExtension, formats } from '../../catalog/formats.ts';
import { refuseField } from '../../catalog/tool.ts';
import type { FormatList } from '../../contracts/api/formats.ts';
import type { Family } from '../../contracts/toolchains.ts';
import type { ApiDeps } from '../deps.ts';
import { type EncodedBody, encodedBody, pack, sendEncoded } from '../http/encoded.ts';
import { noRoute } from '../submit/conversion.ts';
import { describeFormats, explainWay, inShort, selectFormats } from './list.ts';

/** What a request asks for. */
interface Asked {
  readonly from?: string | undefined;
  readonly family?: Family | undefined;
  readonly isShort: boolean;
}

/**
 * Unknown values are refused: there are as many answers as formats and families, and each is built once, however many ask for it meanwhile.
 * @returns builds the answers that most clients fetch
 */
export function formatsRoute(app: FastifyInstance, { catalogue }: Pick<ApiDeps, 'catalogue'>): () => Promise<void> {
  const lists = new WeakMap<Catalog, { readonly list: Promise<FormatList>; readonly bodies: Map<string, Promise<EncodedBody>> }>();
  const bodyOf = (asked: Asked): Promise<EncodedBody> => {
    const catalog = catalogue.current;
    const { list, bodies } = lists.get(catalog) ?? { list: describeFormats(catalog), bodies: new Map() };
    lists.set(catalog, { list, bodies });
    const name = `${asked.from} ${asked.family} ${asked.isShort}`;
    const body = bodies.get(name) ?? list.then((whole) => bodyWith(whole, asked));
    bodies.set(name, body);
    return body;
  };

  app.get<{ Querystring: Record<string, string | string[] | undefined> }>('/api/v1/formats', async (request, reply) => {
    const source = asked(request.query['from']);
    const from = source === undefined ? undefined : known(source, 'from');
    const family = readFamily(asked(request.query['family']));
    const expands = readExpand(asked(request.query['expand']));
    // One source is short enough to say all.
    return sendEncoded(request, reply, await bodyOf({ from, family, isShort: from === undefined && !expands }));
  });
  app.get<{ Params: { from: string; to: string } }>('/api/v1/formats/:from/:to', async ({ params }) => {
    const [from, to] = [known(params.from, 'from'), known(params.to, 'to')];
    const way = explainWay(catalogue.current, from, to);
    if (way === undefined) throw noRoute(catalogue.current.targets(from), from, to);
    return { data: way };
  });
  return async () => {
    for (const isShort of [true, false]) await pack(await bodyOf({ isShort }));
  };
}

function bodyWith(whole: FormatList, { from, family, isShort }: Asked): EncodedBody {
  const chosen = selectFormats(whole, from, family);
  return encodedBody('application/json; charset=utf-8', JSON.stringify({ data: isShort ? inShort(chosen) : chosen }));
}

/** A parameter that is sent twice is refused, too. */
const asked = (sent: string | string[] | undefined): string | undefined => {
  const text = Array.isArray(sent) ? sent.join(',') : sent?.trim();
  return text === '' ? undefined : text;
};

/** @throws Failure `INVALID_OPTION` */
function known(sent: string, field: string): string {
  const format = formatByExtension(sent);
  if (format === undefined) throw refuseField(field, sent, `one of ${[...formats.keys()].join(', ')}`);
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
