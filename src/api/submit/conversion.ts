/** From a received file to the record of its job: the format is resolved and a route is found. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Catalog } from '../../catalog/catalog.ts';
import { formatByExtension, formatOf } from '../../catalog/formats.ts';
import { cleanName } from '../../catalog/names.ts';
import { askedOptions, isDefault } from '../../catalog/options/defaults.ts';
import { meantName } from '../../catalog/options/meant.ts';
import { formOptionNames, type Options, optionNames, optionsAsJson, readOptions } from '../../catalog/options/options.ts';
import { enginesOf, ignoredOptions, type Route } from '../../catalog/route.ts';
import { nearTargets } from '../../catalog/routes/near-targets.ts';
import { differing } from '../../catalog/sniff/differs.ts';
import { unloaded } from '../../catalog/sniff/text/page-parts.ts';
import type { Lane } from '../../contracts/messages/order.ts';
import { Failure } from '../../errors.ts';
import { newRecord } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { choosePool } from '../../pools/registry.ts';
import { startingOr } from '../admission/starting.ts';
import type { ApiDeps } from '../deps.ts';
import { applied, prefersStrict } from '../http/preferences.ts';
import type { ReceivedFile } from '../intake/receive.ts';
import { REFERENCE_FIELDS } from '../intake/references.ts';
import { firstFile, refuseUnlessOne } from '../intake/refusals.ts';
import type { FilePart, Ids, JobPlan, SentFields, SubmitWork } from './stages.ts';
import { targetsIn } from './targets.ts';
import { DESTINATION_FIELDS } from './wanted/destination.ts';
import { WEBHOOK_FIELDS } from './wanted/webhook.ts';

/** The fields of a conversion. */
export const CONVERSION_FIELDS: readonly string[] = [
  ...formOptionNames,
  'to_format',
  'from_format',
  'file',
  ...REFERENCE_FIELDS,
  ...WEBHOOK_FIELDS,
  ...DESTINATION_FIELDS,
];

/** What of the API judges a file and finds the record of its job; the command line has it, too. */
export interface ValidationDeps {
  readonly jobs: Pick<ApiDeps['jobs'], 'encryption' | 'clock'>;
  readonly files: Pick<ApiDeps['files'], 'judge'>;
  readonly catalogue: Pick<ApiDeps['catalogue'], 'current' | 'expected' | 'pools'>;
}

/** What a request asks for; the same for all its files. */
export interface ConversionRequest {
  /** As sent, in lower case: the result's name keeps an alias such as `jpeg`. */
  readonly extension: string;
  readonly from: string | undefined;
  readonly options: Options;
  readonly lane: Lane;
  readonly warnings: JobRecord['warnings'];
}

/** @throws Failure `INVALID_FORMAT`, `INVALID_OPTION` */
export function readRequestOptions(fields: ReadonlyMap<string, string>, lane: Lane): ConversionRequest {
  return {
    extension: readTarget(fields.get('to_format')),
    from: fields.get('from_format')?.trim().slice(0, 100) || undefined,
    options: readOptions(fields),
    lane,
    warnings: unknownFields(fields, CONVERSION_FIELDS),
  };
}

/** An unknown extension stands for itself. */
const targetOf = ({ extension }: Pick<ConversionRequest, 'extension'>): JobRecord['target'] => ({
  format: formatByExtension(extension)?.id ?? extension,
  extension,
});

/** One file to one format. */
export function conversionWork(deps: ValidationDeps, { id }: Ids): SubmitWork {
  return {
    check: checkConversion,
    plan: (brought) => [conversionPlan(deps, id, brought.files, checkConversion(brought))],
  };
}

function checkConversion(sent: SentFields): ConversionRequest {
  refuseUnlessOne({ count: 1, ...sent });
  return readRequestOptions(sent.fields, 'interactive');
}

/** @param files one, which is there or is to be fetched */
export const conversionPlan = <F extends FilePart>(
  deps: ValidationDeps,
  id: string,
  files: readonly F[],
  requestOptions: ConversionRequest,
): JobPlan<F> => ({
  id,
  files,
  known: { lane: requestOptions.lane, target: targetOf(requestOptions), warnings: requestOptions.warnings },
  validate: async (received) => validateConversion(deps, id, firstFile(received), requestOptions),
});

/** @returns the record of the job, not stored yet @throws Failure `INVALID_FORMAT`, `INVALID_OPTION`, `UNSUPPORTED_MIME`, `OVERLOADED` */
export async function validateConversion(
  deps: ValidationDeps,
  id: string,
  { part, filename, sizeBytes, sample, declaredType }: ReceivedFile,
  { extension, from, options, lane, warnings }: ConversionRequest,
): Promise<JobRecord> {
  const { encryption, clock } = deps.jobs;
  const source = await deps.files.judge.sourceOf(sample, filename, from);
  const { current: catalog, pools } = deps.catalogue;
  const target = formatByExtension(extension);
  const given = askedOptions(options);
  const route = target === undefined ? undefined : catalog.route(source, target.id, given);
  if (target === undefined || route === undefined) {
    const hasRoute = (other: Catalog) => target !== undefined && other.route(source, target.id, given) !== undefined;
    throw startingOr(deps, hasRoute, noRoute(catalog.targets(source), source, extension));
  }
  for (const hop of route.hops) hop.engine.refuse?.(hop.source, hop.target, options);
  return {
    ...newRecord(id, clock()),
    pool: choosePool(pools, [route.toolchain], enginesOf(route)),
    lane,
    filename: cleanName(filename),
    sources: [{ part, sizeBytes, format: source }],
    target: { format: target.id, extension },
    options: optionsAsJson(withoutIdleDefaults(route, options)),
    ...(options.password === undefined ? {} : { sealed: encryption.encrypt(options.password, id) }),
    warnings: [...warnings, ...differing(source, filename, declaredType), ...unloaded(sample, source, target.id)],
  };
}

function readTarget(sent: string | undefined): string {
  const refuse = (says: string) => new Failure('INVALID_FORMAT', { says, details: { to_format: (sent ?? '').slice(0, 100), targets: [] } });
  if (sent === undefined || sent === '') throw refuse('The field "to_format" is missing: send the target extension, as in "png".');
  // Several fields of that name with one value are one.
  const others = targetsIn(sent).slice(1);
  if (others.length > 0)
    throw refuse('One job has one target: send several to /api/v1/batch, which makes a job for each, as in to_format=png,webp.');
  const [, name] = /^\.?([A-Za-z0-9][A-Za-z0-9.]{0,15})$/.exec(sent) ?? [];
  const extension = name?.toLowerCase() ?? '';
  // 2 to 5 characters, as the contract says, or a longer name of a known format.
  if (/^[a-z0-9]{2,5}$/.test(extension) || formatByExtension(extension) !== undefined) return extension;
  throw refuse(
    'The field "to_format" must be a file extension, as in "png": 2 to 5 ASCII letters and digits, or another name of a format.',
  );
}

/** Targets that a sentence names; `details.targets` has all. */
const MOST_NEAR = 5;

/** `pdf, jpg and 40 other formats`. */
function inFew(named: readonly string[], count: number): string {
  const others = count - named.length;
  return others === 0 ? named.join(', ') : `${named.join(', ')} and ${others} other formats`;
}

export function noRoute(targets: readonly string[], source: string, extension: string): Failure {
  const { id } = formatOf(source);
  const says =
    targets.length === 0
      ? `A ${id} file cannot be converted by this installation.`
      : `A ${id} file cannot be converted to ${extension}; it can be converted to ${inFew(nearTargets(targets, extension, MOST_NEAR), targets.length)}.`;
  return new Failure('INVALID_FORMAT', { says, details: { from: id, to_format: extension, targets } });
}

/** Without the defaults that this route has no use for: no client is to be told that they have no effect. */
function withoutIdleDefaults(route: Route, options: Options): Options {
  const idle = ignoredOptions(route, optionNames).filter((name) => isDefault(name, options[name]));
  return Object.fromEntries(Object.entries(options).filter(([name]) => !idle.some((each) => each === name))) as Options;
}

/** @param known the names of all fields that have a meaning here */
export function unknownFields(fields: ReadonlyMap<string, string>, known: readonly string[]): JobRecord['warnings'] {
  const unknown = [...fields].filter(([name, value]) => value !== '' && !known.includes(name));
  return unknown.slice(0, 10).map(([name]) => ({ code: 'option_unknown', message: unknownOption(name, known) }));
}

/** @param known the names of all fields that have a meaning for this work @returns the work, which refuses others where the client prefers that */
export function handledAsPreferred(request: FastifyRequest, reply: FastifyReply, work: SubmitWork, known: readonly string[]): SubmitWork {
  if (!prefersStrict(request)) return work;
  applied(reply, 'handling=strict');
  return {
    check(asked) {
      refuseUnknown(asked.fields, known);
      work.check(asked);
    },
    plan(brought) {
      refuseUnknown(brought.fields, known);
      return work.plan(brought);
    },
  };
}

/** @throws Failure `INVALID_OPTION` */
function refuseUnknown(fields: ReadonlyMap<string, string>, known: readonly string[]): void {
  for (const [name, value] of fields) {
    if (value === '' || known.includes(name)) continue;
    const details = { option: name.slice(0, 100), received: value.slice(0, 100), allowed: known.join(', ') };
    throw new Failure('INVALID_OPTION', { says: unknownOption(name, known), details });
  }
}

/** Names the option that was probably meant. */
export function unknownOption(name: string, known: readonly string[]): string {
  const meant = meantName(name, known);
  return `There is no option "${printable(name)}".${meant === undefined ? '' : ` Did you mean ${meant}?`}`;
}

/** At most 50 printable characters. */
const printable = (name: string): string => [...name.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '')].slice(0, 50).join('');
