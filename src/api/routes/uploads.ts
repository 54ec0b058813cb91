/** `POST /api/v1/uploads` and below: files that come before the request that uses them, as a form or resumably by tus. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { uploadIdPattern } from '../../contracts/upload.ts';
import { Failure, fileTooLarge } from '../../errors.ts';
import type { UploadRecord } from '../../uploads/store.ts';
import { TUS_EXTENSIONS, TUS_VERSION, type Tus, type TusAnswer, tusOver } from '../../uploads/tus.ts';
import { receivedBytes } from '../../uploads/uploads.ts';
import { clientOf } from '../door.ts';
import type { ApiParts } from '../parts.ts';
import { ONE_FILE, onlyFile, receive } from '../receive.ts';
import { baseOf } from '../send-job.ts';
import { failureOfTus } from '../tus-problem.ts';
import { uploadBody } from '../upload-body.ts';
import { beyondBounds } from '../upload-bounds.ts';

export const UPLOADS_PATH = '/api/v1/uploads';

/** What this service can do, for `OPTIONS`. */
export const tusAbilities = (maxFileBytes: number): Readonly<Record<string, string>> => ({
  'tus-resumable': TUS_VERSION,
  'tus-version': TUS_VERSION,
  'tus-extension': TUS_EXTENSIONS.join(','),
  'tus-max-size': String(maxFileBytes),
});

type UploadRequest = FastifyRequest<{ Params: { id?: string } }>;

export function uploadRoutes(app: FastifyInstance, parts: ApiParts): void {
  const tus = tusOver(parts.uploads, parts.settings.maxFileBytes, parts.newId);
  const overTus = (request: UploadRequest, reply: FastifyReply) => speakTus(parts, tus, request, reply);

  app.post(UPLOADS_PATH, (request: UploadRequest, reply) =>
    request.headers['tus-resumable'] === undefined ? receiveForm(parts, request, reply) : overTus(request, reply),
  );
  // POST for clients behind proxies that know no PATCH: the protocol has a header for what they mean.
  app.route({ method: ['HEAD', 'PATCH', 'POST'], url: `${UPLOADS_PATH}/:id`, handler: overTus });
  app.delete(`${UPLOADS_PATH}/:id`, async (request: UploadRequest, reply) => {
    if (request.headers['tus-resumable'] !== undefined) return overTus(request, reply);
    const { id } = await parts.uploads.find(request.params.id ?? '');
    await parts.uploads.remove(id);
    return reply.code(204).send();
  });
}

/** A whole file in one request. */
async function receiveForm(parts: ApiParts, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { uploads, objects, settings, newId } = parts;
  const { maxFileBytes: maxBytes } = settings;
  const id = `upl_${newId()}`;
  const declared = Number(request.headers['content-length'] ?? maxBytes);
  const client = clientOf(parts, request);
  await uploads.begin({ id, client, filename: '', sizeBytes: Math.min(maxBytes, declared) }).catch(async (error: unknown) => {
    throw await beyondBounds(parts, client, error);
  });
  try {
    const keyOf = () => uploads.wholeKey(id);
    const file = onlyFile(await receive(request.raw, { fields: ONE_FILE, maxFiles: 1, maxBytes, keyOf }, objects, settings));
    const record = await uploads.complete(id, file.filename, file.sizeBytes);
    request.log.info({ bytes: file.sizeBytes }, 'an upload was received');
    return sendCreated(parts, request, reply, record);
  } catch (error) {
    // The first failure is the answer; what stays is removed when it expires.
    await uploads.remove(id).catch(() => undefined);
    throw error;
  }
}

async function speakTus(parts: ApiParts, tus: Tus, request: UploadRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { uploads, settings } = parts;
  const { raw, headers } = request;
  const { id } = request.params;
  reply.header('tus-resumable', TUS_VERSION).header('tus-version', TUS_VERSION);
  if (headers['tus-resumable'] !== TUS_VERSION) {
    const details = { header: 'Tus-Resumable', allowed: TUS_VERSION };
    throw new Failure('PRECONDITION_FAILED', { says: `The header Tus-Resumable takes ${TUS_VERSION}.`, details });
  }
  const method = id === undefined ? 'POST' : methodOf(request);
  if (id !== undefined && !uploadIdPattern.test(id)) await uploads.find(id);
  if (method === 'PATCH') checkType(headers['content-type']);
  const body = uploadBody(raw, settings);
  const takesBody = method === 'PATCH' || (method === 'POST' && headers['content-type'] !== undefined);
  const url = `${baseOf(request, parts)}${UPLOADS_PATH}${id === undefined ? '' : `/${id}`}`;
  const client = clientOf(parts, request);
  let answer: TusAnswer;
  try {
    answer = await tus({ method, url, headers, body: takesBody ? body.chunks : undefined, client });
  } finally {
    body.stop();
  }
  if (answer.status >= 400) throw await beyondBounds(parts, client, failureOfTus(answer, await detailsOf(parts, request, answer)));
  for (const name of ['upload-offset', 'upload-length', 'upload-metadata', 'cache-control']) {
    const value = answer.headers.get(name);
    if (value !== null) reply.header(name, value);
  }
  const refused = body.refused();
  if (refused !== undefined) throw refused;
  if (method === 'DELETE') return reply.code(204).send();
  const record = await uploads.find(id ?? answer.headers.get('location')?.split('/').pop() ?? '');
  reply.header('upload-expires', new Date(record.expiresAt).toUTCString());
  if (answer.status === 201) return sendCreated(parts, request, reply, record);
  return reply.code(answer.status).send();
}

function sendCreated(parts: ApiParts, request: FastifyRequest, reply: FastifyReply, record: UploadRecord): FastifyReply {
  const self = `${baseOf(request, parts)}${UPLOADS_PATH}/${record.id}`;
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

/** What is to be done with an upload. @throws Failure `METHOD_NOT_ALLOWED` */
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
  throw new Failure('UNSUPPORTED_MIME', { says: `The body of a PATCH has the Content-Type ${accepted}.`, details });
}

/** What a refusal by the library itself is about. */
async function detailsOf(parts: ApiParts, request: UploadRequest, { status }: TusAnswer): Promise<Readonly<Record<string, unknown>>> {
  const { headers, params } = request;
  const record = params.id === undefined ? undefined : await parts.uploads.find(params.id).catch(() => undefined);
  if (status === 413) {
    const offset = record === undefined ? 0 : receivedBytes(record);
    const received = record === undefined ? Number(headers['upload-length']) : offset + Number(headers['content-length'] ?? 0);
    return fileTooLarge(record?.sizeBytes ?? parts.settings.maxFileBytes, received).details;
  }
  return {
    ...(params.id === undefined ? {} : { upload_id: params.id }),
    ...(record === undefined ? {} : { received_bytes: receivedBytes(record), size_bytes: record.sizeBytes }),
  };
}
