/** `POST /api/v1/uploads` and below: files that are uploaded before the request that uses them, as a form or resumably with tus. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { uploadIdPattern } from '../../contracts/api/upload.ts';
import { type Code, Failure, fileTooLarge } from '../../errors.ts';
import type { Client } from '../../limits/clients/client.ts';
import { Exceeded, type UploadRecord } from '../../uploads/store.ts';
import { TUS_EXTENSIONS, TUS_VERSION, type Tus, type TusAnswer, tusOver } from '../../uploads/tus.ts';
import { receivedBytes } from '../../uploads/uploads.ts';
import { clientOf, refuseWhenFull } from '../admission/admission.ts';
import type { ApiDeps } from '../deps.ts';
import { FIELD_OF_ONE, receive } from '../intake/receive.ts';
import { firstFile, refuseUnlessOne } from '../intake/refusals.ts';
import { baseOf } from '../jobs/send.ts';
import { uploadBody } from './body.ts';

export const UPLOADS_PATH = '/api/v1/uploads';
/** What `details` of a refusal name where they would name a tool. */
const SLUG = 'uploads';

/** What this service can do, for `OPTIONS`. */
export const tusAbilities = (maxFileBytes: number): Readonly<Record<string, string>> => ({
  'tus-resumable': TUS_VERSION,
  'tus-version': TUS_VERSION,
  'tus-extension': TUS_EXTENSIONS.join(','),
  'tus-max-size': String(maxFileBytes),
});

type UploadRequest = FastifyRequest<{ Params: { id?: string } }>;

export function uploadRoutes(app: FastifyInstance, deps: Pick<ApiDeps, 'files' | 'limits' | 'service'>): void {
  const tus = tusOver(deps.files.uploads, deps.service.settings.maxFileBytes, deps.service.newId);
  const overTus = (request: UploadRequest, reply: FastifyReply) => speakTus(deps, tus, request, reply);

  app.post(UPLOADS_PATH, (request: UploadRequest, reply) =>
    request.headers['tus-resumable'] === undefined ? receiveForm(deps, request, reply) : overTus(request, reply),
  );
  // POST for clients behind proxies that block PATCH: the protocol has a header that overrides the method.
  app.route({ method: ['HEAD', 'PATCH', 'POST'], url: `${UPLOADS_PATH}/:id`, handler: overTus });
  app.delete(`${UPLOADS_PATH}/:id`, async (request: UploadRequest, reply) => {
    if (request.headers['tus-resumable'] !== undefined) return overTus(request, reply);
    const { id } = await deps.files.uploads.find(request.params.id ?? '');
    await deps.files.uploads.remove(id);
    return reply.code(204).send();
  });
}

/** A whole file in one request. */
async function receiveForm(
  deps: Pick<ApiDeps, 'files' | 'limits' | 'service'>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { uploads, objects } = deps.files;
  const { settings, newId } = deps.service;
  const { maxFileBytes: maxBytes } = settings;
  refuseWhenFull(deps);
  const id = `upl_${newId()}`;
  const declared = Number(request.headers['content-length'] ?? maxBytes);
  const client = clientOf(deps, request);
  await uploads.begin({ id, client, filename: '', sizeBytes: Math.min(maxBytes, declared) }).catch(async (error: unknown) => {
    throw await beyondBounds(deps, client, error);
  });
  try {
    const keyOf = () => uploads.wholeKey(id);
    const received = await receive(request.raw, { fields: FIELD_OF_ONE, maxFiles: 1, maxBytes, keyOf }, objects, settings);
    refuseUnlessOne(received);
    const file = firstFile(received.files);
    const record = await uploads.complete(id, file.filename, file.sizeBytes);
    request.log.info({ bytes: file.sizeBytes }, 'an upload was received');
    return sendCreated(deps, request, reply, record);
  } catch (error) {
    // The first failure is the answer; what stays is removed when it expires.
    await uploads.remove(id).catch(() => undefined);
    throw error;
  }
}

async function speakTus(
  deps: Pick<ApiDeps, 'files' | 'limits' | 'service'>,
  tus: Tus,
  request: UploadRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { uploads } = deps.files;
  const { settings } = deps.service;
  const { raw, headers } = request;
  const { id } = request.params;
  reply.header('tus-resumable', TUS_VERSION).header('tus-version', TUS_VERSION);
  if (headers['tus-resumable'] !== TUS_VERSION) {
    const details = { header: 'Tus-Resumable', allowed: TUS_VERSION };
    throw new Failure('PRECONDITION_FAILED', { says: `The header Tus-Resumable must be ${TUS_VERSION}.`, details });
  }
  const method = id === undefined ? 'POST' : methodOf(request);
  if (id !== undefined && !uploadIdPattern.test(id)) await uploads.find(id);
  if (method === 'PATCH') checkType(headers['content-type']);
  if (method === 'PATCH' || method === 'POST') refuseWhenFull(deps);
  const body = uploadBody(raw, settings);
  const takesBody = method === 'PATCH' || (method === 'POST' && headers['content-type'] !== undefined);
  const url = `${baseOf(request, deps)}${UPLOADS_PATH}${id === undefined ? '' : `/${id}`}`;
  const client = clientOf(deps, request);
  let answer: TusAnswer;
  try {
    answer = await tus({ method, url, headers, body: takesBody ? body.chunks : undefined, client });
  } finally {
    body.stop();
  }
  if (answer.status >= 400) throw await beyondBounds(deps, client, failureOfTus(answer, await detailsOf(deps, request, answer)));
  for (const name of ['upload-offset', 'upload-length', 'upload-metadata', 'cache-control']) {
    const value = answer.headers.get(name);
    if (value !== null) reply.header(name, value);
  }
  const refused = body.refused();
  if (refused !== undefined) throw refused;
  if (method === 'DELETE') return reply.code(204).send();
  const record = await uploads.find(id ?? answer.headers.get('location')?.split('/').pop() ?? '');
  reply.header('upload-expires', new Date(record.expiresAt).toUTCString());
  if (answer.status === 201) return sendCreated(deps, request, reply, record);
  return reply.code(answer.status).send();
}

function sendCreated(
  deps: Pick<ApiDeps, 'files' | 'limits' | 'service'>,
  request: FastifyRequest,
  reply: FastifyReply,
  record: UploadRecord,
): FastifyReply {
  const self = `${baseOf(request, deps)}${UPLOADS_PATH}/${record.id}`;
  const data = {
    upload_id: record.id,
    status: record.finished ? 'finished' : 'uploading',
    filename: record.filename,
    size_bytes: record.sizeBytes,
    received_bytes: receivedBytes(record),
    created_at: new Date(record.createdAt).toISOString(),
    expires_at: new Date(record.expiresAt).toISOString(),
    links: { self },
  };
  return reply.code(201).header('location', self).send({ data });
}

/** The method, after a possible override. @throws Failure `METHOD_NOT_ALLOWED` */
function methodOf({ method, headers }: FastifyRequest): string {
  const meant = String(headers['x-http-method-override'] ?? method).toUpperCase();
  const allowed = ['DELETE', 'HEAD', 'PATCH'];
  if (!allowed.includes(meant)) throw new Failure('METHOD_NOT_ALLOWED', { details: { allowed } });
  return meant;
}

/** The protocol's own media type, and no other. @throws Failure `UNSUPPORTED_MIME` */
function checkType(sent: string | undefined): void {
  const accepted = 'application/offset+octet-stream';
  if (sent === accepted) return;
  const details = { detected: (sent ?? '').slice(0, 100), accepted: [accepted] };
  throw new Failure('UNSUPPORTED_MIME', { says: `A PATCH request must have the Content-Type ${accepted}.`, details });
}

/** A refusal by the library itself. */
async function detailsOf(
  deps: Pick<ApiDeps, 'files' | 'limits' | 'service'>,
  request: UploadRequest,
  { status }: TusAnswer,
): Promise<Readonly<Record<string, unknown>>> {
  const { headers, params } = request;
  const record = params.id === undefined ? undefined : await deps.files.uploads.find(params.id).catch(() => undefined);
  if (status === 413) {
    const offset = record === undefined ? 0 : receivedBytes(record);
    const received = record === undefined ? Number(headers['upload-length']) : offset + Number(headers['content-length'] ?? 0);
    return fileTooLarge(record?.sizeBytes ?? deps.service.settings.maxFileBytes, received).details;
  }
  return {
    ...(params.id === undefined ? {} : { upload_id: params.id }),
    ...(record === undefined ? {} : { received_bytes: receivedBytes(record), size_bytes: record.sizeBytes }),
  };
}

/** The limits of uploads that a client may keep at a time; a refusal reads like that of any other limit. */
const TIERS = {
  uploads: { tier: 'uploads', says: (limit: number) => `At most ${limit} uploads may be kept at once` },
  bytes: { tier: 'upload_bytes', says: (limit: number) => `Uploads may have at most ${limit} bytes in total` },
} as const;

/** @param error anything thrown @returns it, or a failure that names the limit and when there is room again */
async function beyondBounds({ limits }: Pick<ApiDeps, 'limits'>, client: Client, error: unknown): Promise<unknown> {
  if (!(error instanceof Exceeded)) return error;
  const { bound, limit, freeAt = 0 } = error;
  const { tier, says } = TIERS[bound];
  const { rejectionsLastHour } = await limits.limiter.usage(client);
  const seconds = Math.max(1, Math.ceil((freeAt - limits.clock()) / 1000));
  return new Failure('RATE_LIMITED', {
    says: `${says(limit)}: delete one that is not needed, or try again in ${seconds} s.`,
    details: { tier, limit, reset_seconds: seconds, rejections_last_hour: rejectionsLastHour },
    retryAfter: seconds,
  });
}

/** From the library's statuses to our codes. */
const CODES: Readonly<Record<number, Code>> = {
  400: 'BAD_REQUEST',
  // A header is missing: the protocol has no status for that.
  403: 'BAD_REQUEST',
  404: 'UPLOAD_NOT_FOUND',
  409: 'UPLOAD_CONFLICT',
  410: 'UPLOAD_NOT_FOUND',
  413: 'FILE_TOO_LARGE',
  501: 'NOT_IMPLEMENTED',
};

/** Its sentences end in a line break, and name headers only. */
const shown = (says: string): string => says.replace(/[^\x20-\x7e]/g, '').slice(0, 200);

/** @param details of the upload, as far as they are known */
function failureOfTus({ status, says, thrown }: TusAnswer, details: Readonly<Record<string, unknown>>): unknown {
  // Ours, or a defect: for a wrong request the library throws a plain object with a status.
  if (thrown instanceof Failure || (thrown !== undefined && !hasStatus(thrown))) return thrown;
  const code = CODES[status] ?? 'INTERNAL_ERROR';
  if (code === 'BAD_REQUEST') return new Failure(code, { says: `The tus request is invalid: ${shown(says)}.` });
  if (code === 'NOT_IMPLEMENTED') return new Failure(code, { says: shown(says), details: { slug: SLUG, reason: shown(says) } });
  if (code === 'INTERNAL_ERROR') return new Failure(code, { cause: thrown ?? says });
  return new Failure(code, { details, cause: thrown });
}

const hasStatus = (thrown: unknown): boolean => typeof thrown === 'object' && thrown !== null && 'status_code' in thrown;
