/** Streams and consumers as they should be: created if missing, updated if different, an error if they cannot be updated. */
import { type ConsumerConfig, JetStreamApiError, type StreamConfig } from '@nats-io/jetstream';
import type { Nats } from './connection.ts';
import { isNatsNotFound } from './unavailable.ts';

/** Increases when the shape of a stream or consumer changes: an older filemill beside a newer one must not change it back. */
const LAYOUT = 1;
const LAYOUT_KEY = 'filemill-layout';
const MARK = { [LAYOUT_KEY]: String(LAYOUT) };

export type StreamSpec = Partial<StreamConfig> & Pick<StreamConfig, 'name' | 'subjects'>;
export type ConsumerSpec = Partial<ConsumerConfig> & { readonly durable_name: string };

/** The existing stream or consumer differs and cannot be changed into what is wanted. */
export class Mismatch extends Error {
  override readonly name = 'Mismatch';
}

/** Idempotent, and safe if several processes call it concurrently. @throws Mismatch · Unavailable */
export async function ensureStream({ manager, withRetry }: Nats, spec: StreamSpec): Promise<void> {
  const { name } = spec;
  const wanted = { ...spec, metadata: MARK };
  await ensure(`stream ${name}`, wanted, {
    read: () => withRetry(`to read stream ${name}`, async () => (await manager.streams.info(name)).config),
    create: () => withRetry(`to make stream ${name}`, () => manager.streams.add(wanted)),
    update: () => withRetry(`to change stream ${name}`, () => manager.streams.update(name, wanted)),
  });
}

/** As `ensureStream`, for a durable consumer of an existing stream. @throws Mismatch · Unavailable */
export async function ensureConsumer({ manager, withRetry }: Nats, stream: string, spec: ConsumerSpec): Promise<void> {
  const name = spec.durable_name;
  const wanted = { ...spec, metadata: MARK };
  await ensure(`consumer ${name} of stream ${stream}`, wanted, {
    read: () => withRetry(`to read consumer ${name}`, async () => (await manager.consumers.info(stream, name)).config),
    create: () => withRetry(`to make consumer ${name}`, () => manager.consumers.add(stream, wanted)),
    update: () => withRetry(`to change consumer ${name}`, () => manager.consumers.update(stream, name, wanted)),
  });
}

interface Steps {
  readonly read: () => Promise<object>;
  readonly create: () => Promise<unknown>;
  readonly update: () => Promise<unknown>;
}

async function ensure(what: string, wanted: object, { read, create, update }: Steps): Promise<void> {
  let found = await readIfPresent(read);
  if (found === undefined) {
    const refused = await refusal(create);
    if (refused === undefined) return;
    // Another process was faster, perhaps with other settings: these are compared as usual.
    found = await readIfPresent(read);
    if (found === undefined) throw new Mismatch(`${what} cannot be created: ${refused.message}`, { cause: refused });
  }
  const layout = Number(layoutOf(found));
  if (layout > LAYOUT) throw new Mismatch(`${what} was created by a newer filemill (layout ${layout}, this one knows ${LAYOUT}): upgrade`);
  const differences = differing(found, wanted);
  if (differences.length === 0) return;
  const refused = await refusal(update);
  if (refused === undefined) return;
  throw new Mismatch(`${what} exists with ${differences.join(', ')}, and cannot be changed: ${refused.message}`, { cause: refused });
}

async function readIfPresent(read: () => Promise<object>): Promise<object | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isNatsNotFound(error)) return undefined;
    throw error;
  }
}

/** The error with which the server refused; other errors are thrown. */
async function refusal(step: () => Promise<unknown>): Promise<JetStreamApiError | undefined> {
  try {
    await step();
    return undefined;
  } catch (error) {
    if (error instanceof JetStreamApiError) return error;
    throw error;
  }
}

const layoutOf = (config: object): string => (config as { readonly metadata?: Record<string, string> }).metadata?.[LAYOUT_KEY] ?? '0';

/** The differences as text. Fields that `wanted` lacks may have any value; the server adds its own metadata. */
function differing(found: object, wanted: object): string[] {
  const is = found as Readonly<Record<string, unknown>>;
  return Object.entries(wanted).flatMap(([field, value]) => {
    if (field === 'metadata') return layoutOf(found) === String(LAYOUT) ? [] : [`layout ${layoutOf(found)} instead of ${LAYOUT}`];
    // The response may omit fields that are false or zero.
    if (is[field] === undefined && (value === false || value === 0)) return [];
    if (holds(is[field], value)) return [];
    return [`${field} ${JSON.stringify(is[field])} instead of ${JSON.stringify(value)}`];
  });
}

/** Whether `is` has every wanted field, at any depth. */
function holds(is: unknown, wanted: unknown): boolean {
  if (typeof wanted !== 'object' || wanted === null) return is === wanted;
  if (typeof is !== 'object' || is === null) return false;
  if (Array.isArray(wanted)) return Array.isArray(is) && is.length === wanted.length && wanted.every((one, index) => holds(is[index], one));
  return Object.entries(wanted).every(([field, value]) => holds((is as Record<string, unknown>)[field], value));
}
