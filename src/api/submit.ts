/** From a received file to a queued job: the format resolved, a route found, the record created, the order published. */
import { formatByExtension, formatOf } from '../catalog/formats.ts';
import { cleanName } from '../catalog/names.ts';
import { isOption, type Options, optionNames, readOptions } from '../catalog/options.ts';
import { resolveSource } from '../catalog/sniff/sniff.ts';
import { ORDER_VERSION } from '../contracts/order.ts';
import { Failure } from '../errors.ts';
import { RETENTION_MS } from '../jobs/lifecycle.ts';
import { type JobRecord, RECORD_VERSION } from '../jobs/record.ts';
import { inputKey } from '../objects/keys.ts';
import type { ApiParts } from './parts.ts';
import type { Received } from './receive.ts';

/** Fields of a form that are no options. */
const OWN_FIELDS = new Set(['file', 'to_format', 'from_format']);

/** @throws Failure `INVALID_FORMAT`, `INVALID_OPTION`, `UNSUPPORTED_MIME`, `OVERLOADED`; the caller then removes the input */
export async function submit(parts: ApiParts, id: string, received: Received): Promise<JobRecord> {
  const { catalog, jobs, queue, seal, clock } = parts;
  const { fields, sample, sizeBytes } = received;
  const extension = readTarget(fields.get('to_format'));
  const options = readOptions(fields);
  const source = resolveSource(sample, received.filename, fields.get('from_format')?.trim().slice(0, 100) || undefined).format;
  const target = formatByExtension(extension);
  const given = optionNames.filter((name) => options[name] !== undefined);
  const route = target === undefined ? undefined : catalog.route(source, target.id, given);
  if (target === undefined || route === undefined) throw noRoute(catalog.targets(source), source, extension);

  const now = clock();
  const record: JobRecord = {
    version: RECORD_VERSION,
    id,
    state: 'queued',
    pool: route.toolchain,
    lane: 'interactive',
    createdAt: now,
    expiresAt: now + RETENTION_MS,
    source: { key: inputKey(id), filename: cleanName(received.filename), sizeBytes, format: source },
    target: { format: target.id, extension },
    options: optionsAsJson(options),
    ...(options.password === undefined ? {} : { sealed: seal.close(options.password, id) }),
    attempts: 0,
    warnings: unknownFields(fields),
  };
  const stored = await jobs.create(record);
  const order = { version: ORDER_VERSION, jobId: id, pool: record.pool, lane: record.lane };
  const published = await queue.publish(order).catch(async (error: unknown) => {
    // A disk that is full for the order may be full for this too: upkeep then ends the job.
    await jobs.remove(id, stored.revision).catch(() => undefined);
    throw error;
  });
  if (published === 'full') {
    await jobs.remove(id, stored.revision);
    throw new Failure('OVERLOADED', { details: { pool: record.pool } });
  }
  return record;
}

/** The target as asked for, in lower case: aliases keep their own spelling in the result's name. */
function readTarget(sent: string | undefined): string {
  const refuse = (says: string) => new Failure('INVALID_FORMAT', { says, details: { to_format: (sent ?? '').slice(0, 100), targets: [] } });
  if (sent === undefined || sent === '') throw refuse('The field "to_format" is missing: send the target extension, as in "png".');
  if (!/^[A-Za-z0-9]{2,5}$/.test(sent)) throw refuse('The field "to_format" takes 2 to 5 ASCII letters and digits.');
  return sent.toLowerCase();
}

function noRoute(targets: readonly string[], source: string, extension: string): Failure {
  const { id } = formatOf(source);
  const says =
    targets.length === 0
      ? `A ${id} file cannot be converted by this installation.`
      : `A ${id} file cannot be converted to ${extension}; it can be to: ${targets.join(', ')}.`;
  return new Failure('INVALID_FORMAT', { says, details: { from: id, to_format: extension, targets } });
}

function unknownFields(fields: ReadonlyMap<string, string>): JobRecord['warnings'] {
  const unknown = [...fields].filter(([name, value]) => value !== '' && !OWN_FIELDS.has(name) && !isOption(name));
  return unknown.slice(0, 10).map(([name]) => ({ code: 'option_unknown', message: `There is no option "${printable(name)}".` }));
}

/** At most 50 characters that can be seen. */
const printable = (name: string): string => [...name.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '')].slice(0, 50).join('');

/** Without what is not set, for the record is JSON; and without the password, which the record has sealed. */
const optionsAsJson = ({ password: _, ...options }: Options): Record<string, unknown> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
