/** Holds the source to its ranks: imports go downward only, nouns of one rank do not know each other, and each library has one importer. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { basename, dirname, join, normalize } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { describe, expect, it } from 'vitest';
import { toolchains } from '../src/contracts/toolchains.ts';
import { SHARED } from '../src/exec/confine/stage.ts';

/** From the top: a folder may import from ranks below its own. */
const RANKS: readonly (readonly string[])[] = [
  ['main'],
  ['cli'],
  ['roles'],
  ['config'],
  ['api', 'controller', 'worker', 'upkeep', 'webhooks', 'destinations', 'bridge'],
  ['jobs', 'queue', 'signals', 'pools', 'objects', 'uploads', 'limits', 'fetch', 'exec', 'judge', 'kube', 'telemetry'],
  ['nats', 'sqlite'],
  ['catalog'],
  ['alive', 'contracts', 'errors', 'paths', 'printable', 'streams'],
];
/** The same within a folder, for its folders and its own files, which have no extension here; those of one rank do not import each other. */
const INNER: Readonly<Record<string, readonly (readonly string[])[]>> = {
  api: [
    ['server'],
    ['mcp', 'submissions'],
    ['batches', 'convert', 'plain', 'recipes', 'tools', 'uploads', 'formats', 'health', 'openapi', 'webhooks'],
    ['submit', 'outputs', 'page'],
    ['jobs'],
    ['admission', 'intake'],
    ['http'],
    ['deps'],
    ['page-files', 'settings'],
  ],
  'api/mcp': [['routes'], ['surface'], ['calls'], ['tools'], ['protocol'], ['settings']],
  'api/openapi': [['route', 'entry'], ['document'], ['paths'], ['refusals', 'form'], ['headers', 'schemas'], ['shape']],
  worker: [
    ['direct'],
    ['workers', 'direct-slots'],
    ['nats'],
    ['conversion', 'presence'],
    ['trials', 'orders'],
    ['health', 'memory'],
    ['checks', 'failure', 'slot'],
    ['settings'],
  ],
  'worker/conversion': [
    ['recipes'],
    ['job-handler'],
    ['receipt'],
    ['output', 'run-tool'],
    ['convert', 'run-trial'],
    ['measure'],
    ['run-hop'],
    ['judge', 'password', 'run-step'],
  ],
  controller: [['conversion-jobs', 'pools'], ['watched'], ['settings']],
  'controller/pools': [
    ['controller'],
    ['reconcile'],
    ['report', 'validate', 'remember'],
    ['apply'],
    ['observe'],
    ['memory'],
    ['decide'],
    ['observation', 'objects'],
  ],
  catalog: [
    ['live', 'recipes'],
    ['catalog'],
    ['tools'],
    ['tool-families'],
    ['fidelity'],
    ['engines'],
    ['planning', 'routes', 'sniff'],
    ['route'],
    ['tool'],
    ['engine', 'listed-tool', 'formats'],
    ['options'],
    ['archive-phrases', 'bounds', 'known-good', 'looks', 'names', 'nearest', 'proved'],
  ],
};
/** Settings are declared beside their reader, and composed in one file. */
const COMPOSED = /^\w+\/(\w+\/)?settings\.ts$/;
/** Within a rank: these nouns may be imported by their neighbours. */
const NEIGHBOURLY = new Set(['* telemetry', 'uploads objects', 'contracts errors']);
/** Forbidden whatever the ranks say. */
const NEVER = new Set(['api exec', 'api kube']);
/** Libraries that may be imported in many places, and where. */
const WIDE: Readonly<Record<string, RegExp>> = {
  zod: /./,
  fastify: /^api\//,
  nats: /^nats\//,
  '@nats-io/jetstream': /^nats\//,
  'prom-client': /^telemetry\//,
  // A confined program can import nothing of the service.
  parse5: /^exec\/programs\/documents\/(?:html|mail)/,
  'apache-arrow': /^exec\/programs\/data\/columns/,
  'ical.js': /^exec\/programs\/data\/pim\//,
  yaml: /^(config\.ts$|exec\/models\/manifest\.ts$|exec\/programs\/)/,
};

/** Names that files of one family share on purpose, and where. Any other is exported by one file. */
const FAMILIES: Readonly<Record<string, RegExp>> = {
  // One file each, and the list that is generated from them.
  engine: /^catalog\/engines\//,
  tool: /^catalog\/tools\//,
  tools: /^catalog\/tools(\.gen)?\.ts$/,
};

interface Import {
  readonly from: string;
  readonly to: string;
}

const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
const imports: readonly Import[] = files.flatMap((from) => importsOf(from).map((to) => ({ from, to })));

/** Every module that a file names, types included: who knows a type depends on it. */
function importsOf(file: string): string[] {
  const { module } = parseSync(file, readFileSync(join('src', file), 'utf8'));
  const exported = module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest }) => (moduleRequest === null ? [] : [moduleRequest.value])),
  );
  const text = readFileSync(join('src', file), 'utf8');
  const dynamic = module.dynamicImports.map(({ moduleRequest }) =>
    text.slice(moduleRequest.start, moduleRequest.end).replace(/^['"]|['"]$/g, ''),
  );
  return [...module.staticImports.map(({ moduleRequest }) => moduleRequest.value), ...exported, ...dynamic];
}

/** What a file declares and exports, types included; what it passes on from another file is that one's. */
function exportedBy(file: string): string[] {
  const { module } = parseSync(file, readFileSync(join('src', file), 'utf8'));
  return module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest, exportName }) => (moduleRequest === null && exportName.name !== null ? [exportName.name] : [])),
  );
}

const noun = (path: string): string => path.split('/')[0]?.replace(/\.ts$/, '') ?? '';
const rank = (name: string): number => RANKS.findIndex((nouns) => nouns.includes(name));
const own = imports.filter(({ to }) => to.startsWith('.')).map(({ from, to }) => ({ from, to: normalize(join(dirname(from), to)) }));
const libraries = imports
  .filter(({ to }) => !to.startsWith('.') && !to.startsWith('node:'))
  .map(({ from, to }) => ({ from, to: to.startsWith('@') ? to.split('/').slice(0, 2).join('/') : (to.split('/')[0] ?? '') }));

/** Why an import between two nouns is wrong; undefined where it is right. */
function verdict(from: string, to: string): string | undefined {
  if (from === to) return undefined;
  if (rank(from) < 0 || rank(to) < 0) return `${rank(from) < 0 ? from : to} has no rank`;
  if (NEVER.has(`${from} ${to}`)) return `${from} never imports ${to}`;
  if (rank(from) > rank(to)) return `${from} lies below ${to}`;
  if (rank(from) === rank(to) && !NEIGHBOURLY.has(`${from} ${to}`) && !NEIGHBOURLY.has(`* ${to}`))
    return `${from} and ${to} are of one rank`;
  return undefined;
}

/** Why an import within a folder is wrong; undefined where it is right. A generated list counts as the folder that it lists. */
function innerVerdict(folder: string, from: string, to: string): string | undefined {
  const ranks = INNER[folder] ?? [];
  const inner = (path: string): string =>
    path
      .slice(folder.length + 1)
      .split('/')[0]
      ?.replace(/(\.gen)?\.ts$/, '') ?? '';
  const [above, below] = [from, to].map((path) => ranks.findIndex((names) => names.includes(inner(path)))) as [number, number];
  if (inner(from) === inner(to) || COMPOSED.test(to)) return undefined;
  if (above < 0 || below < 0) return `${inner(above < 0 ? from : to)} has no rank`;
  if (above > below) return `${inner(from)} lies below ${inner(to)}`;
  return above === below ? `${inner(from)} and ${inner(to)} are of one rank` : undefined;
}

/** Whether a module listens for an abort by itself: names the event, or the method that subscribes to any, or the property that does. */
function addsAbortListener(text: string): boolean {
  let found = false;
  const look = (word: unknown) => {
    if (['abort', 'addEventListener', 'addAbortListener', 'onabort'].includes(String(word))) found = true;
  };
  new Visitor({
    Identifier: ({ name }) => name !== 'abort' && look(name),
    Literal: ({ value }) => look(value),
    TemplateElement: ({ value }) => look(value.cooked),
  }).visit(parseSync('module.ts', text).program);
  return found;
}

/** Places that list or compare toolchains by name. Names that formats have too count only where they stand beside another, or are compared with a toolchain. */
function namedToolchains(text: string): string[] {
  const found: string[] = [];
  const names: ReadonlySet<unknown> = new Set(toolchains);
  const nameOf = (node: { type: string; value?: unknown; literal?: unknown }): unknown =>
    node.type === 'TSLiteralType' ? (node.literal as { value?: unknown }).value : node.value;
  const list = (members: readonly unknown[], { start, end }: { start: number; end: number }) => {
    const told = members.filter((member) => member !== null && names.has(nameOf(member as { type: string })));
    // A family of tools may have the name of a toolchain.
    if (told.length >= 3 && told.length === members.length) found.push(text.slice(start, end));
  };
  new Visitor({
    ArrayExpression: (node) => list(node.elements, node),
    TSUnionType: (node) => list(node.types, node),
    BinaryExpression: (node) => {
      const [left, right] = [text.slice(node.left.start, node.left.end), text.slice(node.right.start, node.right.end)];
      const sides = [node.left, node.right].filter((side) => side.type === 'Literal' && names.has(side.value));
      if (sides.length > 0 && /toolchain|pool/i.test(left + right)) found.push(`${left} ${node.operator} ${right}`);
    },
    SwitchStatement: ({ discriminant, start, end }) => {
      if (/toolchain|pool/i.test(text.slice(discriminant.start, discriminant.end))) found.push(text.slice(start, end));
    },
  }).visit(parseSync('module.ts', text).program);
  return found;
}

/** Comparisons of a path with the beginning of another one as texts, by the names of what is compared. */
function comparedPaths(text: string): string[] {
  const isPath = /\b(?:path|folder|root|base|dir|top|home|checkout|downloads|real)\b|\bsep\b|\/`$|\/'$/i;
  const found: string[] = [];
  new Visitor({
    CallExpression: ({ callee, arguments: [argument], start, end }) => {
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier' || callee.property.name !== 'startsWith') return;
      if (argument === undefined || argument.type === 'Literal') return;
      if (isPath.test(text.slice(argument.start, argument.end))) found.push(text.slice(start, end));
    },
    BinaryExpression: ({ left, right, start, end }) => {
      const sides = [left, right].map((side) => text.slice(side.start, side.end));
      const [, of] = sides.map((side) => /\.slice\(0, (\w+)\.length\)$/.exec(side)).find((match) => match !== null) ?? [];
      if (of !== undefined && isPath.test(of)) found.push(text.slice(start, end));
    },
  }).visit(parseSync('module.tsx', text).program);
  return found;
}

describe('the architecture', () => {
  it('reads imports from the source', () => expect(own.length).toBeGreaterThan(50));

  it('lets imports go downward only', () => {
    const wrong = own.flatMap(({ from, to }) => {
      const why = verdict(noun(from), noun(to));
      return why === undefined ? [] : [`${from} imports ${to}: ${why}`];
    });
    expect(wrong).toEqual([]);
  });

  it.each([
    ['jobs', 'queue'],
    ['catalog', 'jobs'],
    ['api', 'exec'],
    ['worker', 'api'],
    ['unheard', 'jobs'],
  ])('would refuse that %s imports %s', (from, to) => expect(verdict(from, to)).toBeDefined());

  it.each(Object.keys(INNER))('lets imports within %s go downward only', (name) => {
    const within = own.filter(({ from, to }) => from.startsWith(`${name}/`) && to.startsWith(`${name}/`));
    const wrong = within.flatMap(({ from, to }) => {
      const why = innerVerdict(name, from, to);
      return why === undefined ? [] : [`${from} imports ${to}: ${why}`];
    });
    expect(within.length).toBeGreaterThan(10);
    expect(wrong).toEqual([]);
  });

  it.each([
    ['api', 'api/jobs/view.ts', 'api/outputs/route.ts'],
    ['api', 'api/admission/admission.ts', 'api/intake/receive.ts'],
    ['api', 'api/unheard/a.ts', 'api/jobs/view.ts'],
    ['worker', 'worker/orders/loop.ts', 'worker/conversion/run-step.ts'],
    ['worker/conversion', 'worker/conversion/run-step.ts', 'worker/conversion/run-hop.ts'],
    ['controller/pools', 'controller/pools/observe/observe.ts', 'controller/pools/apply/template.ts'],
    ['catalog', 'catalog/engines/media/voice.ts', 'catalog/tool-families/media.ts'],
  ])('would refuse within %s that %s imports %s', (folder, from, to) => expect(innerVerdict(folder, from, to)).toBeDefined());

  // All members of a family of engines or tools have one form: there may be any number.
  it('has at most sixteen files in a folder', () => {
    const families = /^catalog\/(engines|tools)\/[\w-]+$/;
    const all = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((path) => /\.(ts|py)$/.test(path));
    const full = [...Map.groupBy(all, dirname)].filter(([folder, members]) => members.length > 16 && !families.test(folder));
    expect(full.map(([folder, members]) => `${folder}: ${members.length}`)).toEqual([]);
  });

  it('names files by what exists', () => {
    const missing = own.filter(({ to }) => !files.includes(to));
    expect(missing).toEqual([]);
  });

  it('exports a name from one file, or from the files of one family', () => {
    const exporters = Map.groupBy(
      files.flatMap((file) => [...new Set(exportedBy(file))].map((name) => ({ name, file }))),
      ({ name }) => name,
    );
    const wrong = [...exporters].flatMap(([name, places]) => {
      const strangers = places.filter(({ file }) => !FAMILIES[name]?.test(file));
      return places.length < 2 || strangers.length === 0 ? [] : [`${name} is exported by ${places.map(({ file }) => file).join(', ')}`];
    });
    expect(exporters.size).toBeGreaterThan(1_000);
    expect(wrong).toEqual([]);
    expect(Object.keys(FAMILIES).filter((name) => (exporters.get(name) ?? []).length < 2)).toEqual([]);
  });

  // A message of the queue is a `Delivery`, and what a function takes is named after the function.
  it.each(['Handed', 'Held', 'Kept', 'KeptMessage', 'Turns', 'Wanted'])(
    'has no type called %s: a word of ours that says too little',
    (name) => {
      const declared = new RegExp(`^(?:export )?(?:interface|type|class) ${name}\\b`, 'm');
      expect(files.filter((file) => declared.test(readFileSync(join('src', file), 'utf8')))).toEqual([]);
    },
  );

  it('has no cycles between files', () => {
    const next = new Map(files.map((file) => [file, own.filter(({ from }) => from === file).map(({ to }) => to)]));
    const done = new Set<string>();
    const cycles: string[] = [];
    const visit = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file].join(' → '));
      if (done.has(file) || path.includes(file)) return;
      for (const to of next.get(file) ?? []) visit(to, [...path, file]);
      done.add(file);
    };
    for (const file of files) visit(file, []);
    expect(cycles).toEqual([]);
  });

  it('gives each library one importer', () => {
    const importers = Map.groupBy(libraries, ({ to }) => to);
    const wrong = [...importers].flatMap(([library, uses]) => {
      const wide = WIDE[library];
      const places = [...new Set(uses.map(({ from }) => from))].filter((from) => wide === undefined || !wide.test(from));
      return places.length > (wide === undefined ? 1 : 0) ? [`${library} is imported by ${places.join(', ')}`] : [];
    });
    expect(wrong).toEqual([]);
  });

  it('says of every folder of more than six files what belongs there', () => {
    const folders = Map.groupBy(files, dirname);
    const readme = (folder: string): string => {
      const path = join('src', folder, 'README.md');
      return existsSync(path) ? readFileSync(path, 'utf8') : '';
    };
    // A family of engines or tools is described by a row in the folder of them all.
    const isDescribed = (folder: string): boolean => readme(folder) !== '' || readme(dirname(folder)).includes(`\`${basename(folder)}/\``);
    const silent = [...folders].flatMap(([folder, members]) =>
      members.length <= 6 || members.includes(`${folder}/${basename(folder)}.ts`) || isDescribed(folder) ? [] : [folder],
    );
    expect(silent).toEqual([]);
  });

  it('writes built-in modules with their prefix', () => {
    expect(libraries.filter(({ to }) => builtinModules.includes(to))).toEqual([]);
  });

  it('keeps the catalog free of I/O', () => {
    // zlib is there to unpack bytes that are in memory already.
    const pure = ['node:path', 'node:buffer', 'node:util', 'node:zlib'];
    const wrong = imports.filter(({ from, to }) => noun(from) === 'catalog' && to.startsWith('node:') && !pure.includes(to));
    expect(wrong).toEqual([]);
  });

  it('speaks to NATS where a member of a family does, in roles, which choose it, and in commands about it', () => {
    const members = /(^|\/)nats(\.ts$|\/)|^(roles|cli)\//;
    const wrong = own.filter(({ from, to }) => noun(to) === 'nats' && to !== 'nats/settings.ts' && !members.test(from));
    expect(wrong).toEqual([]);
  });

  it('lets our own programs share what imports nothing, and only that', () => {
    const isProgram = (path: string) => path.startsWith('exec/programs/');
    const shared = own.filter(({ from, to }) => isProgram(from) && !isProgram(to)).map(({ to }) => `src/${to}`);
    expect([...new Set(shared)].sort()).toEqual(SHARED);
    expect(imports.filter(({ from }) => SHARED.includes(`src/${from}`))).toEqual([]);
  });

  it('starts processes in exec only', () => {
    expect(imports.filter(({ from, to }) => to === 'node:child_process' && noun(from) !== 'exec')).toEqual([]);
  });

  it('listens for aborts in one place, so that every listener is removed again', () => {
    expect(files.filter((file) => file !== 'streams/abort.ts' && addsAbortListener(readFileSync(join('src', file), 'utf8')))).toEqual([]);
    expect(addsAbortListener(readFileSync('src/streams/abort.ts', 'utf8'))).toBe(true);
  });

  it.each([
    "signal?.addEventListener('abort', stop)",
    'signal["addEventListener"](`abort`, stop)',
    'signal.onabort = stop',
    "on(signal, 'abort')",
  ])('would find %s', (code) => expect(addsAbortListener(code)).toBe(true));

  it('names toolchains in their table, and each engine those that have it, only', () => {
    const wrong = files
      .filter((file) => file !== 'contracts/toolchains.ts' && !file.startsWith('catalog/engines/'))
      .flatMap((file) => namedToolchains(readFileSync(join('src', file), 'utf8')).map((place) => `${file}: ${place}`));
    expect(wrong).toEqual([]);
  });

  it.each([
    "const all = ['image', 'media', 'pdf', 'office', 'web']",
    "z.enum(['web', 'pdf', 'media'])",
    "type Toolchain = 'image' | 'media' | 'office'",
    "const processes = toolchain === 'web' ? 512 : 128",
    "if ('office' !== pool.toolchain) return",
    'switch (toolchain) { default: }',
  ])('would find %s', (code) => expect(namedToolchains(code)).toHaveLength(1));

  it('has for each toolchain of the table what its image is made of, and for no other', () => {
    const listed = readdirSync('images').filter((name) => existsSync(`images/${name}/packages.txt`));
    expect(listed.sort()).toEqual([...toolchains].sort());
    for (const name of toolchains)
      expect(readdirSync(`images/${name}`)).toEqual(expect.arrayContaining(['packages.txt', 'smoke', 'syscalls.txt']));
  });

  it('compares paths by their parts in one place', () => {
    const wrong = ['src', 'scripts'].flatMap((top) =>
      readdirSync(top, { recursive: true, encoding: 'utf8' })
        .filter((path) => path.endsWith('.ts'))
        .flatMap((path) => comparedPaths(readFileSync(join(top, path), 'utf8')).map((place) => `${top}/${path}: ${place}`)),
    );
    expect(wrong).toEqual([]);
  });

  it.each([
    'path.startsWith(root)',
    ['path.startsWith(`$', '{root}/`)'].join(''),
    'path.startsWith(root + sep)',
    'real.startsWith(folder)',
    'request.url.startsWith(more.path)',
    'at.slice(0, base.length) === base',
  ])('would find %s', (code) => expect(comparedPaths(code)).toHaveLength(1));

  it('prints in one place, which makes visible what comes from outside', () => {
    const prints = /\bconsole\.\w+\(|\bstd(?:out|err)\.write\(/;
    const wrong = files.filter((file) => !file.startsWith('exec/programs/') && prints.test(readFileSync(join('src', file), 'utf8')));
    expect(wrong.toSorted()).toEqual(['cli/files/progress.ts', 'cli/print.ts', 'exec/own-server.ts']);
  });

  it('starts threads where input is judged, and where a worker keeps its orders alive, only', () => {
    expect(imports.filter(({ from, to }) => to === 'node:worker_threads' && !['judge', 'nats'].includes(noun(from)))).toEqual([]);
  });

  it('judges samples in threads only, except for the local files of a command: no other module calls the sniffer', () => {
    const callersOf = (path: string) => own.filter(({ from, to }) => to === path && noun(from) !== 'catalog').map(({ from }) => from);
    expect(callersOf('catalog/sniff/sniff.ts')).toEqual(['judge/answer.ts']);
    expect(callersOf('judge/answer.ts').toSorted()).toEqual(['cli/files/conversions.ts', 'judge/judge.ts', 'judge/thread.ts']);
  });

  // Composition alone, on two screens at most: a list of parts is not split to meet a number.
  it('keeps roles thin', () => {
    const long = files.filter((file) => noun(file) === 'roles' && readFileSync(join('src', file), 'utf8').split('\n').length > 120);
    expect(long).toEqual([]);
  });

  it('opens every module with a sentence', () => {
    const mute = files.filter((file) => !/^(#![^\n]*\n)?\/\*\*/.test(readFileSync(join('src', file), 'utf8')));
    expect(mute).toEqual([]);
  });
});

describe('the kit of the tests', () => {
  it('has every file on its map', () => {
    const map = readFileSync('test/kit/README.md', 'utf8');
    const kit = readdirSync('test/kit', { recursive: true, encoding: 'utf8' }).filter((path) => /\.(ts|c|py|yaml)$/.test(path));
    const isOnMap = (path: string): boolean => [path, basename(path)].some((name) => map.includes(`\`${name}\``));
    expect(kit.filter((path) => !isOnMap(path))).toEqual([]);
  });
});
