/** What a newer OpenAPI document takes away from clients of an older one, told in words: nothing of it may happen within `/api/v1`. */

type Node = Readonly<Record<string, unknown>>;

/** A request may be asked less of, an answer may say more: which it is decides what breaks. */
type Direction = 'sent' | 'received';

const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options'];

/** @returns one sentence for each break, none where every client of `before` is served by `after` */
export function breakingChanges(before: unknown, after: unknown): string[] {
  const [old, now] = [inlined(before), inlined(after)];
  return Object.entries(nodeAt(old, 'paths')).flatMap(([path, item]) =>
    METHODS.filter((method) => isNode(nodeAt(item)[method])).flatMap((method) => {
      const place = `${method.toUpperCase()} ${path}`;
      const operation = nodeAt(now, 'paths', path)[method];
      return isNode(operation) ? operationBreaks(place, nodeAt(item, method), operation) : [`${place} is gone`];
    }),
  );
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value);
const nodeAt = (value: unknown, ...path: readonly string[]): Node =>
  path.reduce<Node>((at, name) => (isNode(at[name]) ? at[name] : {}), isNode(value) ? value : {});
const listAt = (node: Node, name: string): readonly unknown[] => (Array.isArray(node[name]) ? node[name] : []);

/** Every reference replaced by what it refers to, which keeps its name as `$name`. */
function inlined(document: unknown, part: unknown = document, above: readonly string[] = []): unknown {
  if (Array.isArray(part)) return part.map((each) => inlined(document, each, above));
  if (!isNode(part)) return part;
  const ref = part['$ref'];
  if (typeof ref !== 'string')
    return Object.fromEntries(Object.entries(part).map(([name, each]) => [name, inlined(document, each, above)]));
  // What holds itself is compared once.
  if (above.includes(ref)) return {};
  return { ...nodeAt(inlined(document, nodeAt(document, ...ref.slice(2).split('/')), [...above, ref])), $name: ref.split('/').pop() };
}

function operationBreaks(place: string, before: Node, after: Node): string[] {
  const responses = Object.entries(nodeAt(before, 'responses')).flatMap(([status, response]) => {
    const other = nodeAt(after, 'responses')[status];
    // An error that no longer happens breaks no client.
    if (other === undefined) return status < '400' ? [`${place} no longer answers ${status}`] : [];
    const lost = Object.keys(nodeAt(response, 'headers')).filter((name) => !(name in nodeAt(other, 'headers')));
    return [
      ...lost.map((name) => `${place} ${status} has no header ${name} any more`),
      ...contentBreaks('received', `${place} ${status}`, nodeAt(response), nodeAt(other)),
    ];
  });
  const [had, has] = [nodeAt(before, 'requestBody'), nodeAt(after, 'requestBody')];
  const body = has['required'] === true && had['required'] !== true ? [`${place} now needs a body`] : [];
  return [...parameterBreaks(place, before, after), ...body, ...contentBreaks('sent', `${place} body`, had, has), ...responses];
}

function parameterBreaks(place: string, before: Node, after: Node): string[] {
  const named = (operation: Node) => new Map(listAt(operation, 'parameters').map((each) => [nameOf(nodeAt(each)), nodeAt(each)]));
  const [had, has] = [named(before), named(after)];
  const lost = [...had].flatMap(([name, parameter]) => {
    const other = has.get(name);
    if (other === undefined) return [`${place} no longer takes the ${name}`];
    return schemaBreaks('sent', `${place} ${name}`, parameter['schema'], other['schema']);
  });
  const asked = [...has].filter(([name, { required }]) => required === true && had.get(name)?.['required'] !== true);
  return [...lost, ...asked.map(([name]) => `${place} now needs the ${name}`)];
}

const nameOf = (parameter: Node): string => `${parameter['in']} ${parameter['name']}`;

function contentBreaks(direction: Direction, place: string, before: Node, after: Node): string[] {
  return Object.entries(nodeAt(before, 'content')).flatMap(([type, media]) => {
    const other = nodeAt(after, 'content')[type];
    if (other === undefined) return [`${place} is no longer ${type}`];
    return schemaBreaks(direction, place, nodeAt(media)['schema'], nodeAt(other)['schema']);
  });
}

function schemaBreaks(direction: Direction, place: string, a: unknown, b: unknown): string[] {
  const [before, after] = [nodeAt(a), nodeAt(b)];
  // One of several now: another kind of answer was added.
  const same = listAt(after, 'anyOf').find((each) => nodeAt(each)['$name'] === before['$name']);
  if (direction === 'received' && before['$name'] !== undefined && !('anyOf' in before) && same !== undefined)
    return schemaBreaks(direction, place, before, same);
  const properties = Object.entries(nodeAt(before, 'properties')).flatMap(([name, schema]) => {
    const other = nodeAt(after, 'properties')[name];
    return other === undefined ? [`${place} has no ${name} any more`] : schemaBreaks(direction, `${place}.${name}`, schema, other);
  });
  const [had, has] = [listAt(before, 'required'), listAt(after, 'required')];
  const required =
    direction === 'sent'
      ? has.filter((name) => !had.includes(name)).map((name) => `${place} now needs ${name}`)
      : had.filter((name) => !has.includes(name)).map((name) => `${place} may now lack ${name}`);
  const inner = ['items', 'additionalProperties'].flatMap((name) =>
    isNode(before[name]) ? schemaBreaks(direction, `${place}[]`, before[name], after[name]) : [],
  );
  return [
    ...typeBreaks(place, before, after),
    ...choiceBreaks(direction, place, before, after),
    ...(direction === 'sent' ? boundBreaks(place, before, after) : []),
    ...properties,
    ...required,
    ...inner,
    ...alternativeBreaks(direction, place, before, after),
  ];
}

const typeBreaks = (place: string, { type: was }: Node, { type: is }: Node): string[] =>
  was === undefined || String(was) === String(is) ? [] : [`${place} was ${was} and is ${is ?? 'anything'}`];

/** A value that is no longer taken, or never comes any more. New values may come. */
function choiceBreaks(direction: Direction, place: string, before: Node, after: Node): string[] {
  const values = (node: Node) => ('const' in node ? [node['const']] : 'enum' in node ? listAt(node, 'enum') : undefined);
  const [had, has] = [values(before), values(after)];
  if (has === undefined) return had === undefined || direction === 'sent' ? [] : [`${place} may be anything now`];
  if (had === undefined) return direction === 'sent' ? [`${place} now takes only ${has.join(', ')}`] : [];
  const says = direction === 'sent' ? 'no longer takes' : 'is never again';
  return had.filter((value) => !has.includes(value)).map((value) => `${place} ${says} ${value}`);
}

const LOWER = ['minimum', 'minLength', 'minItems'];
const UPPER = ['maximum', 'maxLength', 'maxItems'];

/** What was taken and is too much or too little now. */
function boundBreaks(place: string, before: Node, after: Node): string[] {
  const bound = (node: Node, name: string, none: number) => (typeof node[name] === 'number' ? node[name] : none);
  const narrower = [
    ...LOWER.filter((name) => bound(after, name, -Infinity) > bound(before, name, -Infinity)),
    ...UPPER.filter((name) => bound(after, name, Infinity) < bound(before, name, Infinity)),
  ].map((name) => `${place} has a narrower ${name}: ${after[name]}`);
  const { pattern } = after;
  return pattern === undefined || pattern === before['pattern'] ? narrower : [...narrower, `${place} takes only ${pattern} now`];
}

/** Each alternative that was there is there still, known by its name, or by its place where it has none. */
function alternativeBreaks(direction: Direction, place: string, before: Node, after: Node): string[] {
  const has = 'anyOf' in after ? listAt(after, 'anyOf').map((each) => nodeAt(each)) : [after];
  return listAt(before, 'anyOf').flatMap((each, at) => {
    const { $name: name } = nodeAt(each);
    const other = name === undefined ? has[at] : has.find((candidate) => candidate['$name'] === name);
    if (other !== undefined) return schemaBreaks(direction, name === undefined ? place : `${place} ${name}`, each, other);
    // An error that no longer happens breaks no client.
    return 'error' in nodeAt(each, 'properties') ? [] : [`${place} is never ${name ?? 'its other kind'} any more`];
  });
}
