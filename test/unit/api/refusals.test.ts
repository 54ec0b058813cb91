/** What becomes of a refusal on its way to an MCP client: its words change, and all else that it says stays true. */
import { expect, it } from 'vitest';
import { reasonFor } from '../../../src/api/jobs/refused.ts';
import { namingArguments } from '../../../src/api/mcp/calls/arguments.ts';
import { advised } from '../../../src/api/mcp/calls/job-call.ts';
import { mcpTools } from '../../../src/api/mcp/tools/tools.ts';
import { errorTable, Failure } from '../../../src/errors.ts';
import { urlRefused } from '../../../src/fetch/refusal.ts';

const cause = new Error('why');
const busy = new Failure('CONVERSION_FAILED', {
  says: 'It is busy.',
  details: { reason: 'memory' },
  retryable: true,
  retryAfter: 7,
  cause,
});

it.each([
  ['another sentence', { says: 'Wait.' }, { message: 'Wait.', details: { reason: 'memory' } }],
  ['other details', { details: { reason: 'timeout' } }, { message: 'It is busy.', details: { reason: 'timeout' } }],
])('a failure with %s keeps its code, whether and when to try again, and its cause', (_, changes, changed) =>
  expect(busy.with(changes)).toMatchObject({ code: 'CONVERSION_FAILED', retryable: true, retryAfter: 7, cause, ...changed }),
);

it('a URL that may be fetched later is still said to be so beside the advice to upload the file', () => {
  expect(errorTable.URL_REFUSED.retryable).toBe(false);
  const shown = advised(urlRefused('dns'), 'https://files.example');
  expect(shown).toMatchObject({ message: expect.stringContaining('https://files.example/api/v1/uploads'), retryable: true });
});

it('a refusal that names an argument is retryable as before', () => {
  const [tool] = mcpTools.filter(({ params }) => Object.entries(params).some(([name, { field }]) => name !== field));
  const [name, param] = Object.entries(tool?.params ?? {}).find(([argument, { field }]) => argument !== field) ?? [];
  if (tool === undefined || param === undefined) throw new Error('no tool names a field otherwise');
  const refused = new Failure('INVALID_OPTION', { says: `Not ${param.field}.`, details: { option: param.field }, retryable: true });
  expect(namingArguments(refused, tool)).toMatchObject({ message: `Not ${name}.`, details: { option: name }, retryable: true });
});

it.each([
  ['UNSUPPORTED_MIME', 'unsupported_mime'],
  ['INVALID_FORMAT', 'invalid_format'],
  ['INVALID_OPTION', 'invalid_option'],
  ['FILE_TOO_LARGE', 'file_too_large'],
  ['RATE_LIMITED', undefined],
] as const)('a file of a batch that is refused with %s has the reason %s', (code, reason) =>
  expect(reasonFor(new Failure(code, {}))).toBe(reason),
);
