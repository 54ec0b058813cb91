/** The paths of the document are written by hand: they are compared with the routes, and with the headers and queries, that the source registers and reads. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Node, parseSync, Visitor } from 'oxc-parser';
import { describe, expect, it } from 'vitest';
import { UPLOADS_PATH } from '../../../src/api/uploads/route.ts';

const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options'];
/** Registered and not in the document: for machines, for people, or described by another protocol. */
const ELSEWHERE = [
  ...['GET /livez', 'GET /readyz', 'GET /metrics'],
  ...['GET /docs', 'GET /docs/page.js', 'GET /docs/explorer.js'],
  ...['GET /tools', 'GET /tools/{}', 'GET /jobs', 'GET /jobs/{}', 'GET /assets/{}', 'POST /plain', 'GET /plain/{}'],
  // The page's addresses of conversions.
  ...['GET /sitemap.xml', 'GET a path that is not read'],
  // tus: another method in X-HTTP-Method-Override.
  'POST /api/v1/uploads/{}',
];
/** In the document, and answered before any route: what tus can do here. */
const BEFORE_ROUTES = ['OPTIONS /api/v1/uploads'];
/** The document gives each tool a separate path; and what answers GET answers HEAD, where it is worth a word. */
const SPELT_OUT = /^POST \/api\/v1\/tools\/(?!\{)|^HEAD \/api\/v1\/(?:jobs|batches)\/\{\}\/output(?:s\/\{\})?$/;
/** Read from requests and no parameters of ours: of HTTP itself, of proxies, and of the form. */
const OF_HTTP = [
  ...['host', 'content-type', 'content-length', 'transfer-encoding', 'accept', 'user-agent', 'origin', 'expect'],
  ...[
    'accept-encoding',
    'accept-language',
    'x-forwarded-for',
    'x-forwarded-proto',
    'x-forwarded-host',
    'x-forwarded-prefix',
    'access-control-request-method',
    'x-http-method-override',
  ],
];

interface Operation {
  readonly parameters?: readonly ({ readonly $ref: string } | Parameter)[];
}
interface Parameter {
  readonly name: string;
  readonly in: string;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}
const document = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as Document;
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).flatMap(([method, operation]) => (METHODS.includes(method) ? [{ method, path, operation }] : [])),
);
const parametersOf = ({ parameters = [] }: Operation): Parameter[] =>
  parameters.map((parameter) =>
    '$ref' in parameter ? (document.components['parameters']?.[parameter.$ref.split('/').at(-1) ?? ''] as Parameter) : parameter,
  );

const sources = readdirSync('src/api', { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !path.startsWith('mcp/'))
  .map((path) => readFileSync(join('src/api', path), 'utf8'));

/** A path as it is registered, its parameters without their names; undefined where it is none. */
function pathOf(node: Node | undefined): string | undefined {
  const text = (() => {
    if (node?.type === 'Literal' && typeof node.value === 'string') return node.value;
    if (node?.type === 'Identifier' && node.name === 'UPLOADS_PATH') return UPLOADS_PATH;
    if (node?.type === 'TemplateLiteral') return UPLOADS_PATH + node.quasis.map(({ value }) => value.cooked).join('');
    return undefined;
  })();
  return text?.startsWith('/') ? text.replace(/:\w+/g, '{}') : undefined;
}

/** `METHOD /path` of each route that a module registers by `app.get(…)` and the like, or by `app.route({…})`. */
function routesIn(text: string): string[] {
  const found: string[] = [];
  new Visitor({
    CallExpression: ({ callee, arguments: [first] }) => {
      if (callee.type !== 'MemberExpression' || callee.object.type !== 'Identifier' || callee.object.name !== 'app') return;
      if (callee.property.type !== 'Identifier') return;
      const { name } = callee.property;
      if (METHODS.includes(name)) found.push(`${name.toUpperCase()} ${pathOf(first) ?? 'a path that is not read'}`);
      if (name !== 'route' || first?.type !== 'ObjectExpression') return;
      const given = (key: string) =>
        first.properties.flatMap((each) =>
          each.type === 'Property' && each.key.type === 'Identifier' && each.key.name === key ? [each.value] : [],
        )[0];
      const methods = given('method');
      const listed = methods?.type === 'ArrayExpression' ? methods.elements : [methods];
      for (const method of listed) {
        if (method?.type === 'Literal') found.push(`${method.value} ${pathOf(given('url')) ?? 'a path that is not read'}`);
      }
    },
  }).visit(parseSync('module.ts', text).program);
  return found;
}

const documented = operations.map(({ method, path }) => `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, '{}')}`);
const registered = sources.flatMap(routesIn);

describe('the paths of the document', () => {
  it('are those of the routes, method by method', () => {
    expect(registered.length).toBeGreaterThan(20);
    const expected = documented.filter((each) => !BEFORE_ROUTES.includes(each) && !SPELT_OUT.test(each));
    expect([...new Set(expected)].sort()).toEqual(registered.filter((each) => !ELSEWHERE.includes(each)).sort());
  });

  it('would be found to differ where a route is added, renamed or takes another method', () => {
    expect(routesIn("app.put<Params>('/api/v1/jobs/:id', FREE, answer)")).toEqual(['PUT /api/v1/jobs/{}']);
    expect(routesIn("app.route({ method: ['GET', 'POST'], url: UPLOADS_PATH, handler })")).toEqual([
      'GET /api/v1/uploads',
      'POST /api/v1/uploads',
    ]);
    expect(routesIn('app.get(somewhere, answer)')).toEqual(['GET a path that is not read']);
  });

  it('name each part of a path as a parameter, and no other', () => {
    for (const { method, path, operation } of operations) {
      const named = parametersOf(operation).flatMap((parameter) => (parameter.in === 'path' ? [parameter.name] : []));
      expect(named, `${method} ${path}`).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
    }
  });

  it('have the headers and queries that the source reads', () => {
    const code = sources.join('\n');
    const headers = new Set([...code.matchAll(/headers\['([a-z-]+)'\]/g)].map(([, name = '']) => name));
    const queries = new Set(
      [...code.matchAll(/query(?:\['|\.)(\w+)|\{ (\w+) \} = request\.query/g)].map(([, one, other]) => one ?? other ?? ''),
    );
    const told = operations.flatMap(({ operation }) => parametersOf(operation));
    const toldOf = (where: string) => new Set(told.flatMap((each) => (each.in === where ? [each.name.toLowerCase()] : [])));
    expect([...headers].filter((name) => !toldOf('header').has(name) && !OF_HTTP.includes(name))).toEqual([]);
    // Some are read by their own names elsewhere: by a function, or by the library that speaks tus.
    const elsewhere = ['range', 'prefer', 'upload-metadata', 'upload-offset'];
    expect([...toldOf('header')].filter((name) => !headers.has(name) && !elsewhere.includes(name))).toEqual([]);
    expect([...toldOf('query')].sort()).toEqual([...queries].sort());
  });
});

describe('what the document refers to', () => {
  const text = JSON.stringify(document);
  const referred = new Set([...text.matchAll(/"\$ref":"#\/components\/(\w+)\/([\w-]+)"/g)].map(([, kind, name]) => `${kind}/${name}`));
  const there = Object.entries(document.components).flatMap(([kind, members]) => Object.keys(members).map((name) => `${kind}/${name}`));

  /** No address of the document is asked for with a method that it does not take; and `/mcp` is described by its own protocol. */
  const others = ['schemas/ForbiddenError', 'schemas/MethodNotAllowedError', 'schemas/NotAcceptableError'];
  /** Headers of addresses that are to be retired: there may be none. */
  const retired = ['headers/Deprecation', 'headers/Sunset'];

  it('is there, and whatever is there is referred to', () => {
    expect([...referred].filter((name) => !there.includes(name))).toEqual([]);
    expect(there.filter((name) => !referred.has(name) && !retired.includes(name))).toEqual(others);
  });
});
