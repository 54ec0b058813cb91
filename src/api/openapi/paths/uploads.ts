/** Files that are uploaded before the request that uses them: in a form, or resumably with tus 1.0 (https://tus.io/protocols/resumable-upload). */
import { type Figures, uploadForm } from '../form.ts';
import { answerHeaders } from '../headers.ts';
import { refusals } from '../refusals.ts';
import type { Paths } from '../shape.ts';
import { envelope, parameterRef } from '../shape.ts';

const UPLOAD_ID = parameterRef('UploadId');
const REQUEST_ID = parameterRef('RequestId');
const TUS_HEADERS = ['Tus-Resumable-With-Tus', 'Tus-Version-With-Tus', 'Upload-Offset-With-Tus', 'Upload-Expires-With-Tus'];
const BYTES = { 'application/offset+octet-stream': { schema: { type: 'string', format: 'binary' } as const } };

export const uploadPaths = (figures: Figures): Paths => ({
  '/api/v1/uploads': {
    post: {
      operationId: 'upload',
      summary: 'Upload a file, or start a resumable upload',
      description:
        'A form has the whole file in one request. With `Tus-Resumable: 1.0.0` the request starts a resumable upload of `Upload-Length` bytes: it may contain the first bytes, and PATCH requests send the rest. A finished upload is kept for 2 hours and may be used more than once.',
      tags: ['Uploads'],
      parameters: [...['TusResumable', 'UploadLength', 'UploadMetadata'].map(parameterRef), REQUEST_ID],
      requestBody: { required: false, content: { ...uploadForm(figures).content, ...BYTES } },
      responses: {
        201: {
          description: 'The upload.',
          headers: answerHeaders('Location', ...TUS_HEADERS),
          content: { 'application/json': { schema: envelope('Upload') } },
          links: Object.fromEntries(
            ['deleteUpload', 'headUpload', 'resumeUpload'].map((operationId) => [
              operationId,
              { operationId, parameters: { upload_id: '$response.body#/data/upload_id' } },
            ]),
          ),
        },
        ...refusals('Upload'),
      },
    },
    options: {
      operationId: 'getUploadAbilities',
      summary: 'Get the supported tus versions and extensions',
      tags: ['Uploads'],
      parameters: [REQUEST_ID],
      responses: {
        204: { description: 'See the headers.', headers: answerHeaders('Tus-Resumable', 'Tus-Version', 'Tus-Extension', 'Tus-Max-Size') },
      },
    },
  },
  '/api/v1/uploads/{upload_id}': {
    head: {
      operationId: 'headUpload',
      summary: 'Get the offset of an upload',
      tags: ['Uploads'],
      parameters: [UPLOAD_ID, parameterRef('TusSpoken'), REQUEST_ID],
      responses: {
        200: { description: 'See the headers.', headers: answerHeaders('Upload-Offset', 'Upload-Length', ...TUS_HEADERS.slice(0, 2)) },
        ...refusals('Resume'),
      },
    },
    patch: {
      operationId: 'resumeUpload',
      summary: 'Continue an upload at its offset',
      tags: ['Uploads'],
      parameters: [UPLOAD_ID, ...['TusSpoken', 'UploadOffset'].map(parameterRef), REQUEST_ID],
      requestBody: { required: true, content: BYTES },
      responses: {
        204: { description: 'The bytes are kept.', headers: answerHeaders('Upload-Offset', ...TUS_HEADERS) },
        ...refusals('Resume'),
      },
    },
    delete: {
      operationId: 'deleteUpload',
      summary: 'Remove an upload',
      tags: ['Uploads'],
      parameters: [UPLOAD_ID, parameterRef('TusResumable'), REQUEST_ID],
      responses: { 204: { description: 'The upload is removed.', headers: answerHeaders() }, ...refusals('Resume') },
    },
  },
});
