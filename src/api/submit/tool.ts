/** From received files to the record of a tool's job: whether the tool accepts their formats, and what its fields say. */
import { formatOf } from '../../catalog/formats.ts';
import { cleanName } from '../../catalog/names.ts';
import { type OptionName, optionsAsJson } from '../../catalog/options/options.ts';
import { enginesOf, ignoredOptions, type Route } from '../../catalog/route.ts';
import { differing } from '../../catalog/sniff/differs.ts';
import { type ByPlan, type Input, type Method, readInput, refuseField, type Tool } from '../../catalog/tool.ts';
import { Failure, fileTooLarge } from '../../errors.ts';
import { newRecord } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { choosePool } from '../../pools/registry.ts';
import { startingOr } from '../admission/starting.ts';
import type { Received, ReceivedFile } from '../intake/receive.ts';
import { type Counted, noFile, severalFiles } from '../intake/refusals.ts';
import { unknownFields, type ValidationDeps } from './conversion.ts';
import type { Ids, SentFields, SubmitWork } from './stages.ts';
import { DESTINATION_FIELDS } from './wanted/destination.ts';
import { WEBHOOK_FIELDS } from './wanted/webhook.ts';

/** One tool on one file or several. */
export function toolWork(deps: ValidationDeps, { id }: Ids, tool: Tool): SubmitWork {
  const { slug } = tool;
  const check = (sent: SentFields): void => {
    refuseCount(tool, { count: tool.files.min, ...sent });
    readInput(tool, sent.fields);
  };
  return {
    check,
    plan(brought) {
      check(brought);
      const { fields, files } = brought;
      const known = { lane: 'interactive', target: { format: 'unknown', extension: '' }, tool: { slug, input: {} } } as const;
      return [{ id, files, known, validate: (received) => validateTool(deps, id, tool, { fields, files: received }) }];
    },
  };
}

/** @returns the record of the job, not stored yet @throws Failure `NO_FILE`, `BATCH_TOO_LARGE`, `BAD_REQUEST`, `FILE_TOO_LARGE`, `UNSUPPORTED_MIME`, `INVALID_OPTION`, `NOT_IMPLEMENTED`, `OVERLOADED` */
export async function validateTool(
  deps: ValidationDeps,
  id: string,
  tool: Tool,
  { fields, files }: Pick<Received, 'fields' | 'files'>,
): Promise<JobRecord> {
  const { encryption, clock } = deps.jobs;
  const { judge } = deps.files;
  refuseCount(tool, { fields, count: files.length });
  refuseSizes(tool, files);
  const formats: string[] = [];
  // One after the other: the client reads about the first file that is refused.
  for (const { sample, filename } of files) formats.push(tool.takesPage ? 'url' : accepted(tool, await judge.sourceOf(sample, filename)));
  const { password, ...input } = readInput(tool, fields);
  const [first] = files;
  const [source] = formats;
  if (first === undefined || source === undefined) throw new Failure('NO_FILE');
  return {
    ...newRecord(id, clock()),
    ...routeOf(deps, tool, formats, input),
    filename: cleanName(first.filename),
    sources: files.map(({ part, sizeBytes }, index) => ({ part, sizeBytes, format: formats[index] ?? source })),
    tool: { slug: tool.slug, input },
    ...(typeof password === 'string' ? { sealed: encryption.encrypt(password, id) } : {}),
    warnings: [
      ...unknownFields(fields, fieldsOf(tool)),
      ...(tool.takesPage
        ? []
        : files.flatMap(({ filename, declaredType }, index) => differing(formats[index] ?? source, filename, declaredType))),
    ],
  };
}

/** The names of all fields that have a meaning for a tool. */
export const fieldsOf = ({ input, aliases = {} }: Tool): readonly string[] => [
  ...Object.keys(input.shape),
  ...Object.keys(aliases),
  'url',
  ...WEBHOOK_FIELDS,
  ...DESTINATION_FIELDS,
];

function refuseCount({ files: { min, max, fields }, slug }: Tool, sent: Counted): void {
  const { count } = sent;
  const field = fields[0] ?? 'file';
  if (count > max && max === 1) throw severalFiles(count, field);
  if (count > max) {
    const says = `The tool ${slug} accepts at most ${max} files; ${count} were sent.`;
    throw new Failure('BATCH_TOO_LARGE', { says, details: { max_files: max, received_files: count } });
  }
  if (count === 0) throw noFile(sent, field, min === max ? 'one' : `${min} to ${max}`);
  if (count < min)
    throw new Failure('BAD_REQUEST', {
      says: `The tool ${slug} needs ${min} to ${max} files in the field "${field}"; ${count} were sent.`,
      details: { min_files: min, max_files: max, received_files: count },
    });
}

function refuseSizes({ files: { max, totalBytes }, bounds }: Tool, files: readonly ReceivedFile[]): void {
  if (files.some(({ sizeBytes }) => sizeBytes === 0)) throw new Failure('NO_FILE', { says: 'A file is empty.' });
  const most = bounds?.maxBytes ?? Number.POSITIVE_INFINITY;
  const large = files.find(({ sizeBytes }) => sizeBytes > most);
  if (large !== undefined) throw fileTooLarge(most, large.sizeBytes, max > 1 ? cleanName(large.filename) : undefined);
  const bytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  if (totalBytes !== undefined && bytes > totalBytes) {
    const says = `The files are larger than ${totalBytes} bytes in total, the maximum that this tool accepts.`;
    throw new Failure('FILE_TOO_LARGE', { says, details: { max_bytes: totalBytes, received_bytes: bytes } });
  }
}

function accepted({ accepts, slug }: Tool, format: string): string {
  if (accepts.includes(format)) return format;
  const says = `The tool ${slug} does not accept a ${format} file; it accepts: ${accepts.join(', ')}.`;
  throw new Failure('UNSUPPORTED_MIME', { says, details: { detected: formatOf(format).mime, accepted: accepts } });
}

/** @throws Failure `INVALID_OPTION` for a model that is not here */
function methodOf(deps: Pick<ValidationDeps, 'catalogue'>, work: ByPlan, input: Input): Method {
  const catalog = deps.catalogue.current;
  const found = catalog.method(work, input);
  if (found !== undefined) return found;
  const { model } = input;
  if (typeof model !== 'string') return work.methods[0];
  const here = catalog.methods(work).map(({ engine }) => engine.name);
  throw startingOr(deps, (other) => other.method(work, input) !== undefined, refuseField('model', model, here.join(' or ')));
}

/** The pool, its lane, the engine's options and the target format. */
function routeOf(deps: Pick<ValidationDeps, 'catalogue'>, tool: Tool, formats: readonly string[], input: Input) {
  const { current: catalog, pools } = deps.catalogue;
  const { work } = tool;
  const [source = ''] = formats;
  if ('methods' in work) {
    const target = work.target(formats, input);
    const { engine, onRequest } = methodOf(deps, work, input);
    return {
      // What takes minutes lets others go first.
      lane: onRequest ? ('bulk' as const) : ('interactive' as const),
      pool: choosePool(pools, engine.toolchains, [engine.id]),
      target: { format: target, extension: target },
      options: {},
    };
  }
  const { target, options } = work.convert(source, input);
  const given = Object.keys(options).filter((name) => options[name as OptionName] !== undefined) as OptionName[];
  // Without an engine that honours the options, the tool would return the file unchanged: it is refused instead.
  const honours = (found: Route | undefined): found is Route => found !== undefined && ignoredOptions(found, given).length === 0;
  const route = catalog.route(source, target, given);
  if (!honours(route)) {
    const says = `The engine that the tool ${tool.slug} needs for a ${source} file is not installed.`;
    const missing = new Failure('NOT_IMPLEMENTED', { says, details: { slug: tool.slug, reason: 'engine_missing' } });
    throw startingOr(deps, (other) => honours(other.route(source, target, given)), missing);
  }
  return {
    lane: 'interactive' as const,
    pool: choosePool(pools, [route.toolchain], enginesOf(route)),
    target: { format: target, extension: target },
    options: optionsAsJson(options),
  };
}
