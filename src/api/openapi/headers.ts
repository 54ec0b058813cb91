/** Every header that an answer or a request may have. */
import { MOST_IDS } from '../../contracts/api/job-list.ts';
import type { HeaderSpec, Parameter, SchemaRef } from './shape.ts';
import { headerRef } from './shape.ts';

const count = { type: 'integer', minimum: 0 } as const;
const text = { type: 'string' } as const;

export const headers: Readonly<Record<string, HeaderSpec>> = {
  'X-Request-Id': {
    description: 'Names this request in our logs. The caller’s value is kept if it matches `[A-Za-z0-9._-]{1,64}`.',
    required: true,
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
  },
  'Access-Control-Allow-Origin': { description: 'Any page may use the service.', required: true, schema: { const: '*' } },
  'X-RateLimit-Limit': { description: 'The limit with the smallest share left. Absent if limits are disabled.', schema: count },
  'X-RateLimit-Remaining': { description: 'What remains of that limit.', schema: count },
  'X-RateLimit-Reset': { description: 'When its window ends, seconds from now.', schema: count },
  RateLimit: { description: 'The same, as `"hourly";r=149;t=3600` (draft-ietf-httpapi-ratelimit-headers-10).', schema: text },
  'RateLimit-Policy': { description: 'All limits of this client, as `"daily";q=1000;w=86400, "hourly";q=150;w=3600`.', schema: text },
  'Retry-After': { description: 'When to try again, seconds.', required: true, schema: count },
  'Retry-After-While-Processing': { description: 'While `processing`: when to poll again, seconds.', schema: count },
  'Location-While-Processing': { description: 'While `processing`: the job’s own address.', schema: { type: 'string', format: 'uri' } },
  Location: { description: 'The address of the result.', required: true, schema: { type: 'string', format: 'uri' } },
  'Preference-Applied': {
    description: '`respond-async`, `handling=strict` or both, where the request asked for it and it was applied.',
    schema: text,
  },
  'Idempotency-Replayed': {
    description: '`true` where an earlier request with the same `Idempotency-Key` created what is answered.',
    schema: { type: 'string', enum: ['true'] },
  },
  ETag: { description: 'Identifies this content.', required: true, schema: text },
  Vary: { description: 'Which request header the answer depends on.', schema: text },
  'Content-Disposition': { description: '`attachment` with the name of the file (RFC 6266).', required: true, schema: text },
  'Content-Range': { description: 'Which part of the file this is, and of how many bytes.', required: true, schema: text },
  'Accept-Ranges': { description: '`bytes` where parts can be requested with `Range`, else `none`', schema: text },
  'Tus-Resumable': { description: 'The version of tus in use.', required: true, schema: text },
  'Tus-Resumable-With-Tus': { description: 'The version of tus in use, where the request uses tus.', schema: text },
  'Tus-Version': { description: 'All supported versions of tus.', required: true, schema: text },
  'Tus-Version-With-Tus': { description: 'All supported versions of tus, where the request uses tus.', schema: text },
  'Tus-Extension': { description: 'The supported extensions of tus.', required: true, schema: text },
  'Tus-Max-Size': { description: 'The largest upload, bytes.', required: true, schema: count },
  'Upload-Offset': { description: 'How many bytes are kept.', required: true, schema: count },
  'Upload-Offset-With-Tus': { description: 'How many bytes are kept.', schema: count },
  'Upload-Length': { description: 'How many bytes there will be.', schema: count },
  'Upload-Expires-With-Tus': { description: 'When the upload is removed.', schema: text },
  Deprecation: { description: 'Since when this address is deprecated (RFC 9745). See docs/versioning.md.', schema: text },
  Sunset: { description: 'When it will be removed (RFC 8594).', schema: text },
};

/** The headers of every answer. */
const ALWAYS = [
  'X-Request-Id',
  'Access-Control-Allow-Origin',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit',
  'RateLimit-Policy',
];

/** @param more names of `headers`, beside those of every answer; what follows `-While-` or `-With-` is no part of the header's name */
export const answerHeaders = (...more: readonly string[]): Readonly<Record<string, SchemaRef>> =>
  Object.fromEntries([...ALWAYS, ...more].map((name) => [name.replace(/-(While|With)-.*/, ''), headerRef(name)]));

export const parameters: Readonly<Record<string, Parameter>> = {
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    description: 'Kept if it matches `[A-Za-z0-9._-]{1,64}`, otherwise replaced.',
    schema: { type: 'string', examples: ['order-4711'] },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'The same key with the same content answers the same job for 2 hours; with other content 422 `IDEMPOTENCY_MISMATCH`.',
    schema: { type: 'string', pattern: '^[!-~]{1,128}$' },
  },
  Prefer: {
    name: 'Prefer',
    in: 'header',
    description:
      '`respond-async`: do not wait for the job; `handling=strict`: refuse an unknown option instead of warning of it (RFC 7240).',
    schema: { type: 'string', examples: ['respond-async'] },
  },
  Download: {
    name: 'download',
    in: 'query',
    description: '`1`: a job that is done within the wait answers 303 to its output.',
    schema: { type: 'string', enum: ['1'] },
  },
  SavedName: {
    name: 'name',
    in: 'query',
    description: '`source`: the header names the file `output.save_as`, without the suffix of the service.',
    schema: { type: 'string', enum: ['source'] },
  },
  JobIds: {
    name: 'ids',
    in: 'query',
    description: `1 to ${MOST_IDS} ids of jobs, separated by commas. Each ten count as one request.`,
    required: true,
    schema: { type: 'string', maxLength: 33 * MOST_IDS },
    example: '0123456789abcdef0123456789abcdef,fedcba9876543210fedcba9876543210',
  },
  JobId: {
    name: 'job_id',
    in: 'path',
    description: '32 hex characters. A malformed id is treated as an unknown one.',
    required: true,
    schema: { type: 'string', pattern: '^[0-9a-f]{32}$' },
    example: '0123456789abcdef0123456789abcdef',
  },
  BatchId: {
    name: 'batch_id',
    in: 'path',
    description: '`bat_` and 16 hex characters.',
    required: true,
    schema: { type: 'string', pattern: '^bat_[0-9a-f]{16}$' },
    example: 'bat_0123456789abcdef',
  },
  UploadId: {
    name: 'upload_id',
    in: 'path',
    description: '`upl_` and 32 hex characters.',
    required: true,
    schema: { type: 'string', pattern: '^upl_[0-9a-f]{32}$' },
    example: 'upl_0123456789abcdef0123456789abcdef',
  },
  TusSpoken: {
    name: 'Tus-Resumable',
    in: 'header',
    description: '`1.0.0`: this address takes tus requests only.',
    required: true,
    schema: { type: 'string', enum: ['1.0.0'] },
  },
  TusResumable: {
    name: 'Tus-Resumable',
    in: 'header',
    description: '`1.0.0`: the request uses tus.',
    schema: { type: 'string', enum: ['1.0.0'] },
  },
  UploadLength: { name: 'Upload-Length', in: 'header', description: 'With tus: how many bytes there will be.', schema: count },
  UploadOffset: { name: 'Upload-Offset', in: 'header', description: 'Where these bytes begin.', required: true, schema: count },
  UploadMetadata: {
    name: 'Upload-Metadata',
    in: 'header',
    description: 'With tus: `filename` and its value in base64.',
    schema: { type: 'string', examples: ['filename cGhvdG8ucG5n'] },
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'The `ETag` that the client has: 304 while it is current.',
    schema: text,
  },
  Range: { name: 'Range', in: 'header', description: 'A part of the file, as `bytes=0-999`.', schema: text },
  IfRange: {
    name: 'If-Range',
    in: 'header',
    description: 'Sends the part only while the file has this `ETag`, else the whole file.',
    schema: text,
  },
  LastEventId: { name: 'Last-Event-ID', in: 'header', description: 'The id of the last event that was received.', schema: text },
};
