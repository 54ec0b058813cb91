/** Jobs and batches: their state, their outputs, and their deletion. */
import { answerHeaders } from '../headers.ts';
import { refusals } from '../refusals.ts';
import type { Operation, Paths, Response, Schema } from '../shape.ts';
import { envelope, parameterRef, schemaRef } from '../shape.ts';
import { jobResponse } from './work.ts';

const JOB_ID = parameterRef('JobId');
const BATCH_ID = parameterRef('BatchId');
const REQUEST_ID = parameterRef('RequestId');
const DELETED: Response = { description: 'The job is cancelled if it was not done; its files are deleted.', headers: answerHeaders() };
const FILE_HEADERS = ['Content-Disposition', 'ETag', 'Accept-Ranges'];
/** The first is what generated clients take: bytes. An output has its own media type. */
const BYTES = { schema: { type: 'string', format: 'binary', contentMediaType: 'application/octet-stream' } } as const;
/** A document as JSON; data that was converted to JSON has another form. */
const DOCUMENT = { schema: { anyOf: [schemaRef('DocumentModel'), {}] } };
const anyFile = { 'application/octet-stream': BYTES, '*/*': BYTES };

/** Each event of the stream. */
const EVENT: Schema = {
  type: 'object',
  properties: {
    event: { type: 'string', enum: ['progress', 'done', 'failed'] },
    id: { type: 'string' },
    data: { type: 'string', contentMediaType: 'application/json', description: 'What `GET /api/v1/jobs/{job_id}` answers' },
  },
  required: ['event', 'id', 'data'],
};

/** What sends one file. */
const FILES_OF_JOBS = ['getJobOutput', 'getNamedOutput'];

const output = (operationId: string, summary: string): Operation => ({
  operationId,
  summary,
  description: 'Streamed, as an attachment that browsers do not run: the file is untrusted.',
  tags: ['Jobs'],
  parameters: [JOB_ID, ...['SavedName', 'Range', 'IfRange', 'IfNoneMatch', 'RequestId'].map(parameterRef)],
  responses: {
    200: {
      description: 'The file.',
      headers: answerHeaders(...FILE_HEADERS),
      ...(FILES_OF_JOBS.includes(operationId) ? { content: { ...anyFile, 'application/json': DOCUMENT } } : {}),
    },
    ...(FILES_OF_JOBS.includes(operationId)
      ? { 206: { description: 'The requested part.', headers: answerHeaders(...FILE_HEADERS, 'Content-Range'), content: anyFile } }
      : {}),
    304: { description: 'The client already has it.', headers: answerHeaders('ETag') },
    ...refusals('Output'),
  },
});

/** One of several outputs: it keeps its name. */
const named = (operation: Operation): Operation => ({
  ...operation,
  parameters: [
    JOB_ID,
    {
      name: 'name',
      in: 'path',
      required: true,
      description: 'The name of the step, as `outputs` of the job lists it.',
      schema: { type: 'string' },
      example: 'book',
    },
    ...['Range', 'IfRange', 'IfNoneMatch', 'RequestId'].map(parameterRef),
  ],
});

const ZIP: Response = { description: 'A ZIP.', headers: answerHeaders('Content-Disposition', 'Accept-Ranges') };

export const resultPaths: Paths = {
  '/api/v1/jobs': {
    get: {
      operationId: 'listJobs',
      summary: 'Get several jobs',
      description:
        'Each job by its id, in the order of the ids. A job that is unknown, has expired or has failed is an error in its entry. Texts of results are left out.',
      tags: ['Jobs'],
      parameters: [parameterRef('JobIds'), REQUEST_ID],
      responses: {
        200: {
          description: 'The jobs.',
          headers: answerHeaders(),
          content: { 'application/json': { schema: envelope('JobList') } },
        },
        ...refusals('Choice'),
      },
    },
  },
  '/api/v1/jobs/{job_id}': {
    get: {
      operationId: 'getJob',
      summary: 'Get a job',
      tags: ['Jobs'],
      parameters: [JOB_ID, REQUEST_ID],
      responses: {
        200: {
          ...jobResponse(),
          content: { 'application/json': { schema: { anyOf: [envelope('Job'), envelope('TextJob')] } } },
        },
        ...refusals('Job'),
      },
    },
    delete: {
      operationId: 'deleteJob',
      summary: 'Cancel a job, and remove its files',
      description: 'May be repeated: it answers 204 again while the tombstone is kept. The job itself then answers 410.',
      tags: ['Jobs'],
      parameters: [JOB_ID, REQUEST_ID],
      responses: { 204: DELETED, ...refusals('Gone') },
    },
  },
  '/api/v1/jobs/{job_id}/output': {
    get: output('getJobOutput', 'Download the output of a job'),
    head: output('headJobOutput', 'Get the headers of the output of a job'),
  },
  '/api/v1/jobs/{job_id}/outputs/{name}': {
    get: named(output('getNamedOutput', 'Download one result of a recipe')),
    head: named(output('headNamedOutput', 'Get the headers of one result of a recipe')),
  },
  '/api/v1/jobs/{job_id}/fidelity': {
    get: {
      operationId: 'getJobFidelity',
      summary: 'Get the receipt of a job',
      description: 'What became of each property of the source, measured on both files: pictures, sound and film so far.',
      tags: ['Jobs'],
      parameters: [JOB_ID, REQUEST_ID],
      responses: {
        200: {
          description: 'The receipt.',
          headers: answerHeaders(),
          content: { 'application/json': { schema: envelope('Receipt') } },
        },
        ...refusals('Receipt'),
      },
    },
  },
  '/api/v1/jobs/{job_id}/events': {
    get: {
      operationId: 'getJobEvents',
      summary: 'Follow a job',
      description:
        'Server-sent events `progress`, `done` and `failed`; their data is the body that the job, or its error, would have. The first is the present state, and after the last the stream ends.',
      tags: ['Jobs'],
      parameters: [JOB_ID, ...['LastEventId', 'RequestId'].map(parameterRef)],
      responses: {
        200: {
          description: 'The stream.',
          headers: answerHeaders(),
          content: { 'text/event-stream': { schema: EVENT } },
        },
        204: { description: 'The client has the last event: it should not reconnect.', headers: answerHeaders() },
        ...refusals('Gone'),
      },
    },
  },
  '/api/v1/batches/{batch_id}': {
    get: {
      operationId: 'getBatch',
      summary: 'Get a batch',
      tags: ['Jobs'],
      parameters: [BATCH_ID, REQUEST_ID],
      responses: {
        200: {
          description: 'The batch.',
          headers: answerHeaders(),
          content: { 'application/json': { schema: envelope('Batch') } },
        },
        ...refusals('Gone'),
      },
    },
    delete: {
      operationId: 'deleteBatch',
      summary: 'Cancel a batch, and remove its files',
      tags: ['Jobs'],
      parameters: [BATCH_ID, REQUEST_ID],
      responses: { 204: DELETED, ...refusals('Gone') },
    },
  },
  '/api/v1/batches/{batch_id}/output': {
    get: {
      operationId: 'getBatchOutput',
      summary: 'Download all results of a batch',
      description:
        'Equal names are numbered; `errors.json` lists the files that failed. The ZIP is made while it is sent: it has no length, and no ranges.',
      tags: ['Jobs'],
      parameters: [BATCH_ID, REQUEST_ID],
      responses: {
        200: { ...ZIP, content: { 'application/zip': { schema: { type: 'string', format: 'binary' } } } },
        ...refusals('Output'),
      },
    },
    head: {
      operationId: 'headBatchOutput',
      summary: 'Get the headers of the results of a batch',
      tags: ['Jobs'],
      parameters: [BATCH_ID, REQUEST_ID],
      responses: { 200: ZIP, ...refusals('Output') },
    },
  },
};
