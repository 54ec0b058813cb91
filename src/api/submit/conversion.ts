/** From a received file to the record of its job: the format is resolved and a route is found. */
import type { Catalog } from '../../catalog/catalog.ts';
import { formatByExtension, formatOf } from '../../catalog/formats.ts';
import { cleanName } from '../../catalog/names.ts';
import { isOption, type Options, optionNames, optionsAsJson, readOptions } from '../../catalog/options/options.ts';
import { enginesOf } from '../../catalog/route.ts';
import { differing } from '../../catalog/sniff/differs.ts';
import { unloaded } from '../../catalog/sniff/text/page-parts.ts';
import type { Lane } from '../../contracts/messages/order.ts';
import { Failure } from '../../errors.ts';
import { newRecord } from '../../jobs/lifecycle.ts';
import type { JobRecord } from '../../jobs/record.ts';
import { choosePool } from '../../pools/registry.ts';
import { startingOr } from '../admission/starting.ts';
import type { ApiDeps } from '../deps.ts';
import type { ReceivedFile } from '../intake/receive.ts';
import { REFERENCE_FIELDS } from '../intake/references.ts';
import { firstFile, refuseUnlessOne } from '../intake/refusals.ts';
import type { Ids, JobPlan, Numbered, Sent, SubmitWork } from './stages.ts';

/** Fields of a form that are not options. */
const OWN_FIELDS = new Set(['file', ...REFERENCE_FIELDS, 'to_format', 'from_format']);

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
    warnings: unknownFields(fields, (name) => OWN_FIELDS.has(name) || isOption(name)),
  };
}

/** An unknown extension stands for itself. */
const targetOf = ({ extension }: Pick<ConversionRequest, 'extension'>): JobRecord['target'] => ({
  format: formatByExtension(extension)?.id ?? extension,
  extension,
});

/** One file to one format. */
export function conversionWork(deps: ApiDeps, { id }: Ids): SubmitWork {
  return {
    check: checkConversion,
    plan: (brought) => [conversionPlan(deps, id, brought.files, checkConversion(brought))],
  };
}

function checkConversion(sent: Sent): ConversionRequest {
  refuseUnlessOne({ count: 1, ...sent });
  return readRequestOptions(sent.fields, 'interactive');
}

/** @param files one, which is there or is to be fetched */
export const conversionPlan = <F extends Numbered>(
  deps: ApiDeps,
  id: string,
  files: readonly F[],
  requestOptions: ConversionRequest,
): JobPlan<F> => ({
  id,
  files,
  known: { lane: requestOptions.lane, target: targetOf(requestOptions) },
  validate: async (received) => validateConversion(deps, id, firstFile(received), requestOptions),
});

/** @returns the record of the job, not stored yet @throws Failure `INVALID_FORMAT`, `INVALID_OPTION`, `UNSUPPORTED_MIME`, `OVERLOADED` */
export async function validateConversion(
  deps: Pick<ApiDeps, 'catalog' | 'expected' | 'pools' | 'encryption' | 'judge' | 'clock'>,
  id: string,
  { part, filename, sizeBytes, sample, declaredType }: ReceivedFile,
  { extension, from, options, lane, warnings }: ConversionRequest,
): Promise<JobRecord> {
  const { encryption, judge, clock } = deps;
  const source = await judge.sourceOf(sample, filename, from);
  const { catalog, pools } = deps;
  const target = formatByExtension(extension);
  const given = optionNames.filter((name) => options[name] !== undefined);
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
    options: optionsAsJson(options),
    ...(options.password === undefined ? {} : { sealed: encryption.encrypt(options.password, id) }),
    warnings: [...warnings, ...differing(source, filename, declaredType), ...unloaded(sample, source, target.id)],
  };
}

function readTarget(sent: string | undefined): string {
  const refuse = (says: string) => new Failure('INVALID_FORMAT', { says, details: { to_format: (sent ?? '').slice(0, 100), targets: [] } });
  if (sent === undefined || sent === '') throw refuse('The field "to_format" is missing: send the target extension, as in "png".');
  const [, name] = /^\.?([A-Za-z0-9][A-Za-z0-9.]{0,15})$/.exec(sent) ?? [];
  const extension = name?.toLowerCase() ?? '';
  // The contract's 2 to 5, and whatever longer name a format is known by.
  if (/^[a-z0-9]{2,5}$/.test(extension) || formatByExtension(extension) !== undefined) return extension;
  throw refuse(
    'The field "to_format" must be a file extension, as in "png": 2 to 5 ASCII letters and digits, or another name of a format.',
  );
}

export function noRoute(targets: readonly string[], source: string, extension: string): Failure {
  const { id } = formatOf(source);
  const says =
    targets.length === 0
      ? `A ${id} file cannot be converted by this installation.`
      : `A ${id} file cannot be converted to ${extension}; it can be converted to: ${targets.join(', ')}.`;
  return new Failure('INVALID_FORMAT', { says, details: { from: id, to_format: extension, targets } });
}

/** @param isKnown whether a field's name is an option here */
export function unknownFields(fields: ReadonlyMap<string, string>, isKnown: (name: string) => boolean): JobRecord['warnings'] {
  const unknown = [...fields].filter(([name, value]) => value !== '' && !isKnown(name));
  return unknown.slice(0, 10).map(([name]) => ({ code: 'option_unknown', message: `There is no option "${printable(name)}".` }));
}

/** At most 50 printable characters. */
const printable = (name: string): string => [...name.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '')].slice(0, 50).join('');
