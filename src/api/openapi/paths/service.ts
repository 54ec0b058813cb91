/** Paths about the service itself: formats, tools, limits, health, and this document. */
import { formats } from '../../../catalog/formats.ts';
import { answerHeaders } from '../headers.ts';
import { refusals } from '../refusals.ts';
import type { Operation, Parameter, Paths, Schema } from '../shape.ts';
import { envelope, parameterRef } from '../shape.ts';

const FAMILIES = [...new Set([...formats.values()].map(({ family }) => family))];
const REQUEST_ID = parameterRef('RequestId');

const query = (name: string, description: string, schema: Schema): Parameter => ({ name, in: 'query', description, schema });

/** A read without parameters. */
const read = (operationId: string, summary: string, contentType: string, schema: Schema, description?: string): Operation => ({
  operationId,
  summary,
  ...(description === undefined ? {} : { description }),
  tags: ['Service'],
  parameters: [REQUEST_ID],
  responses: {
    200: { description: 'The current state.', headers: answerHeaders(), content: { [contentType]: { schema } } },
    ...refusals('Read'),
  },
});

/** A read of what an installation may lack. */
const sometimes = (operation: Operation): Operation => ({ ...operation, responses: { ...operation.responses, ...refusals('Slug') } });

/** A read that clients may cache by its ETag. */
const lasting = (operation: Operation, kind: 'Choice' | 'Read'): Operation => {
  const { 200: answer, ...rest } = operation.responses;
  return {
    ...operation,
    parameters: [...(operation.parameters ?? []), parameterRef('IfNoneMatch')],
    responses: {
      ...(answer === undefined ? {} : { 200: { ...answer, headers: answerHeaders('ETag', 'Vary') } }),
      304: { description: 'The client already has it.', headers: answerHeaders('ETag', 'Vary') },
      ...rest,
      ...refusals(kind),
    },
  };
};

const SLUG: Parameter = {
  name: 'slug',
  in: 'path',
  required: true,
  description: 'As `GET /api/v1/tools` lists it.',
  schema: { type: 'string' },
  example: 'resize-image',
};
const ENTRY = read(
  'getRoot',
  'Start here',
  'application/json',
  envelope('Entry'),
  'Links to all parts of the API; a browser is redirected to the reference.',
);

const listFormats = read('listFormats', 'List the formats and their targets', 'application/json', envelope('FormatList'));

const explainFormat = read('explainFormat', 'Explain a conversion', 'application/json', envelope('FormatWay'));
const part = (name: string, description: string): Parameter => ({
  ...{ name, in: 'path', required: true, description },
  schema: { type: 'string' },
  example: name === 'from' ? 'docx' : 'pdf',
});

export const servicePaths: Paths = {
  '/api/v1/formats': {
    get: {
      ...lasting(listFormats, 'Choice'),
      description:
        'Each source with the targets that this installation supports; the test suite proves each pair by a real conversion. Options are listed by name, with each schema once; with `expand=options` or `from`, they are listed with their schemas by target, and each pair names the options that it ignores and what it loses.',
      parameters: [
        query('from', 'This source only, by any of its extensions', { type: 'string', examples: ['png'] }),
        query('family', 'Sources of this family only', { type: 'string', enum: FAMILIES }),
        query('expand', 'Include all details of each pair', { type: 'string', enum: ['options'] }),
        REQUEST_ID,
        parameterRef('IfNoneMatch'),
      ],
    },
  },
  '/api/v1/formats/{from}/{to}': {
    get: {
      ...explainFormat,
      description:
        'The steps by which a file of one format becomes one of another: each engine with its version, how good it is, and what it does not keep.',
      parameters: [part('from', 'Any extension of the source'), part('to', 'Any extension of the target'), REQUEST_ID],
      responses: { ...explainFormat.responses, ...refusals('Way') },
    },
  },
  '/api/v1/tools': {
    get: lasting(
      read(
        'listTools',
        'List the tools and their inputs',
        'application/json',
        envelope('ToolList'),
        'A tool that is not available states the reason.',
      ),
      'Read',
    ),
  },
  '/api/v1/tools/{slug}': {
    get: {
      ...read('getTool', 'Describe one tool', 'application/json', envelope('ToolEntry')),
      parameters: [SLUG, REQUEST_ID],
      responses: { ...read('', '', 'application/json', envelope('ToolEntry')).responses, ...refusals('Slug') },
    },
  },
  '/api/v1/recipes': {
    get: read(
      'listRecipes',
      'List the recipes that the operator has named',
      'application/json',
      envelope('RecipeList'),
      'Each is run by its name.',
    ),
  },
  '/api/v1': {
    get: read('getEntry', 'Find everything', 'application/json', envelope('Entry'), 'The same as `/`.'),
  },
  '/': {
    get: {
      ...ENTRY,
      responses: {
        ...ENTRY.responses,
        302: { description: 'A browser is redirected to the reference.', headers: answerHeaders('Location') },
      },
    },
  },
  '/api/v1/limits': {
    get: read('getLimits', 'Get your usage and what remains', 'application/json', envelope('Limits'), 'Does not count against limits.'),
  },
  '/api/v1/webhooks/keys': {
    get: sometimes(
      read(
        'getWebhookKeys',
        'Get the keys that verify webhooks',
        'application/json',
        envelope('WebhookKeys'),
        'Each message has a signature (`v1a`) for each key. Where no webhooks are sent, this answers 404.',
      ),
    ),
  },
  '/api/v1/health': {
    get: read(
      'getHealth',
      'Get the health of the service',
      'application/json',
      envelope('Health'),
      'Always answers 200. Does not count against limits.',
    ),
  },
  '/api/v1/openapi.json': {
    get: {
      ...read('getOpenApiHere', 'Find this document', 'application/json', { type: 'object' }),
      responses: {
        308: { description: 'A redirect to `/openapi.json`.', headers: answerHeaders('Location') },
        ...refusals('Read'),
      },
    },
  },
  '/openapi.json': {
    get: lasting(read('getOpenApi', 'This document', 'application/json', { type: 'object' }), 'Read'),
  },
};
