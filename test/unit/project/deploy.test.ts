/** compose.yaml, the unit of systemd, and the files for home servers' catalogues: each as its platform documents it, and all with the same confinement. */
import { readFileSync } from 'node:fs';
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { VARIABLES } from '../../../src/config.ts';

const text = (path: string): string => readFileSync(path, 'utf8');
const { version } = JSON.parse(text('package.json')) as { version: string };

/** What of the Compose specification is used: anything else is a slip of the pen until it is written down here. */
const Service = z.strictObject({
  image: z.string().regex(/^(?:\$\{FILEMILL_IMAGE:-localhost\/)?filemill\/filemill:[\d.]+\}?$/),
  container_name: z.string().optional(),
  user: z.string().optional(),
  restart: z.enum(['unless-stopped', 'on-failure']),
  init: z.literal(true),
  ports: z
    .array(z.union([z.string(), z.strictObject({ target: z.number(), published: z.string(), protocol: z.literal('tcp') })]))
    .optional(),
  environment: z.record(z.string(), z.string()),
  volumes: z
    .array(
      z.union([z.string().endsWith(':/data'), z.strictObject({ type: z.literal('bind'), source: z.string(), target: z.literal('/data') })]),
    )
    .length(1),
  read_only: z.literal(true),
  tmpfs: z.tuple([z.literal('/tmp')]),
  cap_drop: z.tuple([z.literal('ALL')]),
  security_opt: z.tuple([z.literal('no-new-privileges:true')]),
  pids_limit: z.number().int().min(1024),
  mem_limit: z.string(),
  deploy: z.strictObject({ resources: z.strictObject({ reservations: z.strictObject({ memory: z.string() }) }) }).optional(),
  stop_grace_period: z.literal('20s'),
  healthcheck: z.strictObject({
    test: z.tuple([z.literal('CMD'), z.literal('node'), z.literal('-e'), z.string().includes('/readyz')]),
    interval: z.string(),
    timeout: z.string(),
    start_period: z.string(),
  }),
});
const expectKnown = (environment: Readonly<Record<string, string>>, ...others: readonly string[]) =>
  expect(Object.keys(environment).filter((name) => !Object.hasOwn(VARIABLES, name) && !others.includes(name))).toEqual([]);

describe('compose.yaml', () => {
  const Compose = z.strictObject({
    name: z.literal('filemill'),
    services: z.strictObject({ filemill: Service }),
    volumes: z.strictObject({ data: z.strictObject({}) }),
  });
  it('has one service with one volume, which needs no secret', () => {
    const { services } = Compose.parse(parse(text('compose.yaml')));
    expectKnown(services.filemill.environment);
    expect(services.filemill.ports).toEqual([expect.stringMatching(/^\$\{LISTEN:-127\.0\.0\.1:8080\}:8080$/)]);
    expect(text('compose.yaml')).not.toMatch(/:\?/);
  });
});

describe('the file for CasaOS', () => {
  // docs/specs/compose-and-x-casaos.md of IceWhaleTech/CasaOS-AppStore.
  const localized = z.record(z.string().regex(/^[a-z]{2}_[A-Z]{2}$/), z.string().min(1)).refine((texts) => texts['en_US'] !== undefined);
  const App = z.strictObject({
    name: z.string(),
    services: z.strictObject({ filemill: Service }),
    'x-casaos': z.strictObject({
      id: z.string().regex(/^[a-z0-9_-]+(\.[a-z0-9_-]+)+$/),
      main: z.literal('filemill'),
      index: z.string().startsWith('/'),
      port_map: z.string().regex(/^\d+$/),
      scheme: z.enum(['http', 'https']),
      title: localized,
      icon: z.string().min(1),
      screenshot_link: z.array(z.string()),
      tagline: localized,
      description: localized,
      author: z.string(),
      developer: z.string(),
      category: z.enum(['Media', 'Productivity', 'Home', 'Networking', 'AI', 'Finance', 'Social', 'Developer', 'Others']),
      architectures: z.array(z.enum(['amd64', 'arm64'])),
      version: z.literal(version),
      website: z.url(),
    }),
  });
  it('has the block that its store reads', () => {
    const { services, 'x-casaos': about } = App.parse(parse(text('deploy/casaos/docker-compose.yml')));
    expectKnown(services.filemill.environment, 'TZ');
    expect(services.filemill.ports).toEqual([{ target: 8080, published: about.port_map, protocol: 'tcp' }]);
    expect(services.filemill.container_name).toBe('filemill');
  });
});

describe('the files for Umbrel', () => {
  // README.md of getumbrel/umbrel-apps.
  const Manifest = z.strictObject({
    manifestVersion: z.literal(1),
    id: z.string().regex(/^[a-z-]+$/),
    category: z.enum(['files', 'bitcoin', 'media', 'networking', 'social', 'automation', 'finance', 'ai', 'developer', 'gaming', 'crypto']),
    name: z.string(),
    version: z.literal(version),
    tagline: z.string().max(60),
    description: z.string().min(50),
    developer: z.string(),
    website: z.url(),
    repo: z.url(),
    support: z.url(),
    port: z.number().int().min(1024).max(65_535),
    gallery: z.array(z.string()),
    path: z.string(),
    defaultUsername: z.string(),
    defaultPassword: z.string(),
    dependencies: z.array(z.string()),
    releaseNotes: z.string(),
    submitter: z.string(),
    submission: z.url(),
  });
  const Compose = z.strictObject({
    version: z.literal('3.7'),
    services: z.strictObject({
      app_proxy: z.strictObject({ environment: z.strictObject({ APP_HOST: z.string(), APP_PORT: z.literal(8080) }) }),
      server: Service,
    }),
  });
  it('have a manifest, and a service that its proxy leads to', () => {
    const { id } = Manifest.parse(parse(text('deploy/umbrel/umbrel-app.yml')));
    const { app_proxy, server } = Compose.parse(parse(text('deploy/umbrel/docker-compose.yml'))).services;
    expect(app_proxy.environment.APP_HOST).toBe(`${id}_server_1`);
    expect(server.ports).toBeUndefined();
    expectKnown(server.environment);
    expect(server.volumes).toEqual([expect.stringMatching(/^\$\{APP_DATA_DIR\}\/data:\/data$/)]);
  });
});

describe('the template for Unraid', () => {
  const path = 'deploy/unraid/filemill.xml';
  const Config = z.strictObject({
    Name: z.string().min(1),
    Target: z.string().min(1),
    Default: z.string(),
    Mode: z.enum(['tcp', 'udp', 'rw', 'ro', '']),
    Description: z.string().min(1),
    Type: z.enum(['Port', 'Path', 'Variable', 'Label', 'Device']),
    Display: z.enum(['always', 'always-hide', 'advanced', 'advanced-hide']),
    Required: z.enum(['true', 'false']),
    Mask: z.enum(['true', 'false']),
    '#text': z.string().optional(),
  });
  const Container = z.strictObject({
    version: z.literal('2'),
    Name: z.string(),
    Repository: z.string(),
    Registry: z.url(),
    Network: z.literal('bridge'),
    Shell: z.enum(['sh', 'bash']),
    Privileged: z.literal('false'),
    Support: z.url(),
    Project: z.url(),
    Overview: z.string().min(50),
    Category: z.string().regex(/^\S+:\S*(?: \S+:\S*)*$/),
    WebUI: z.literal('http://[IP]:[PORT:8080]/'),
    ExtraParams: z.string(),
    Config: z.array(Config),
  });
  it('has a port, a folder, and variables that filemill knows', () => {
    expect(XMLValidator.validate(text(path))).toBe(true);
    const read = new XMLParser({
      ignoreAttributes: false,
      attributeNamePrefix: '',
      parseTagValue: false,
      isArray: (name) => name === 'Config',
    }).parse(text(path)) as {
      Container: unknown;
    };
    const { Config: configs, ExtraParams, Repository } = Container.parse(read.Container);
    expect(Repository).toBe(`filemill/filemill:${version}`);
    const targets = (type: string) => configs.filter(({ Type }) => Type === type).map(({ Target }) => Target);
    expect([targets('Port'), targets('Path')]).toEqual([['8080'], ['/data']]);
    expectKnown(Object.fromEntries(targets('Variable').map((name) => [name, ''])));
    for (const words of [
      '--init',
      '--read-only',
      '--tmpfs /tmp',
      '--cap-drop ALL',
      '--security-opt no-new-privileges',
      '--pids-limit 4096',
      '--stop-timeout 20',
      '--memory 4g',
    ])
      expect(ExtraParams).toContain(words);
  });
});

describe('the files for TrueNAS', () => {
  const folder = 'deploy/truenas';
  const App = z.strictObject({
    app_version: z.literal(version),
    capabilities: z.array(z.strictObject({ name: z.string(), description: z.string() })),
    categories: z.array(z.string()).min(1),
    changelog_url: z.url(),
    date_added: z.iso.date(),
    description: z.string(),
    home: z.url(),
    host_mounts: z.array(z.unknown()).length(0),
    icon: z.url(),
    keywords: z.array(z.string()),
    lib_version: z.string().regex(/^\d+\.\d+\.\d+$/),
    maintainers: z.array(z.strictObject({ email: z.email(), name: z.string(), url: z.url() })),
    name: z.literal('filemill'),
    run_as_context: z.array(
      z.strictObject({
        description: z.string(),
        gid: z.number().min(1),
        group_name: z.string(),
        uid: z.number().min(1),
        user_name: z.string(),
      }),
    ),
    screenshots: z.array(z.url()),
    sources: z.array(z.url()),
    title: z.string(),
    train: z.enum(['community', 'stable', 'enterprise']),
    version: z.string().regex(/^\d+\.\d+\.\d+$/),
  });
  interface Question {
    readonly variable: string;
    readonly group?: string;
    readonly schema: { readonly type: string; readonly attrs?: readonly Question[]; readonly items?: readonly Question[] };
  }
  const paths = (questions: readonly Question[], at = ''): readonly string[] =>
    questions.flatMap(({ variable, schema }) => [`${at}${variable}`, ...paths(schema.attrs ?? [], `${at}${variable}.`)]);

  it('describe the app', () => expect(() => App.parse(parse(text(`${folder}/app.yaml`)))).not.toThrow());

  it('ask for every value that the template uses, in groups that exist', () => {
    const { groups, questions } = parse(text(`${folder}/questions.yaml`)) as { groups: { name: string }[]; questions: Question[] };
    const values = parse(text(`${folder}/ix_values.yaml`)) as { consts: object; images: { image: { repository: string; tag: string } } };
    const known = new Set([...paths(questions), ...Object.keys(values.consts).map((name) => `consts.${name}`)]);
    const used = [...text(`${folder}/templates/docker-compose.yaml`).matchAll(/\bvalues\.([\w.]+)/g)].map(([, path = '']) => path);
    expect(used.length).toBeGreaterThan(10);
    expect(used.filter((path) => !known.has(path))).toEqual([]);
    expect(questions.map(({ group }) => group).filter((group) => !groups.some(({ name }) => name === group))).toEqual([]);
    expect(values.images.image).toEqual({ repository: 'filemill/filemill', tag: version });
    const set = [...text(`${folder}/templates/docker-compose.yaml`).matchAll(/add_env\("(\w+)"/g)].map(([, name = '']) => name);
    expectKnown(Object.fromEntries(set.map((name) => [name, ''])));
  });
});

describe('the unit of systemd', () => {
  const unit = text('deploy/systemd/filemill.service');
  it('leaves the service what it needs: root, its capabilities, a cgroup, and time to end', () => {
    expect(unit).not.toMatch(/^(?:User|CapabilityBoundingSet|PrivateUsers|NoNewPrivileges)=/m);
    expect(unit).toMatch(/^Delegate=yes$/m);
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThan(10);
    expect(unit).toMatch(/^StateDirectoryMode=0755$/m);
  });
});
