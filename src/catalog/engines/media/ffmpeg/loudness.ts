/** Brings sounds to a loudness below a true peak (EBU R 128): measures them as they would be encoded (ITU-R BS.1770), and then changes their level. */
import type { EngineWarning, NextPlan, Plan, Task } from '../../../engine.ts';
import type { OptionName } from '../../../options/options.ts';
import { command } from './command.ts';
import type { Timeline } from './timeline.ts';

export const LEVEL_OPTIONS = ['loudness', 'true_peak'] as const satisfies readonly OptionName[];

/** dBTP: what EBU R 128 allows. */
const DEFAULT_PEAK = -1;
/** At most so many measurements of a sound with limited peaks, and the largest accepted distance from the wanted loudness, LU. */
const [MOST_LOOKS, NEAR, TOLD] = [4, 0.2, 0.5];
/** Gating leaves nothing of what is quieter, LUFS. */
const SILENCE = -70;
/** Four times the usual rates, Hz: at this one, samples are as high as what is between them (BS.1770, annex 2). */
const PEAK_RATE = 192_000;
/** What rises again where the rate falls, dB. */
const MARGIN = 0.1;

interface LevelledSound {
  readonly index: number;
  /** Samples a second of what is encoded. */
  readonly rate: number;
  /** What makes of the stream what is encoded. */
  readonly filters: readonly string[];
}

interface Measured {
  /** LUFS */
  readonly loudness: number;
  /** dBTP */
  readonly peak: number;
}

interface Level {
  /** dB; undefined for silence. */
  readonly gain: number | undefined;
  /** dBTP above which peaks are lowered; undefined where none is. */
  readonly limit: number | undefined;
}

/** @param planned the plan, by the filters that each sound gets behind its others */
export function atLoudness(
  task: Task,
  time: Timeline,
  sounds: readonly LevelledSound[],
  planned: (levels: readonly (readonly string[])[]) => Plan,
): Plan {
  const { loudness: asked = SILENCE, true_peak: most = DEFAULT_PEAK } = task.options;
  const filtersOf = (level: Level, { rate }: LevelledSound) => filters(level, rate);

  const look = (levels: readonly Level[], plan: (found: readonly Measured[]) => Plan): NextPlan => ({
    look: measure(
      task,
      time,
      sounds.map((sound, place) => [...sound.filters, ...(levels[place] === undefined ? [] : filtersOf(levels[place], sound))]),
      sounds,
    ),
    onStderr: true,
    plan: (said) => plan(readMeasured(said, sounds.length)),
  });
  const done = (levels: readonly Level[], warnings: readonly EngineWarning[]): Plan => {
    const { warnings: more = [], ...plan } = planned(sounds.map((sound, place) => filtersOf(levels[place] ?? UNCHANGED, sound)));
    return { ...plan, warnings: [...more, ...warnings] };
  };
  /** Limited peaks make a sound less loud than its gain does, and rise a little where the rate falls: it is measured again. */
  const settled = (levels: readonly Level[], looks: number): NextPlan =>
    look(levels, (found) => {
      const far = levels.map(({ limit }, place) => {
        const { loudness, peak } = found[place] ?? NOTHING;
        return limit === undefined ? { missing: 0, over: 0 } : { missing: asked - loudness, over: Math.max(0, peak - most) };
      });
      const lowered = levels.map((level, place) => lower(level, far[place]?.over ?? 0));
      if (looks >= MOST_LOOKS || far.every(({ missing, over }) => Math.abs(missing) <= NEAR && over === 0))
        return done(
          lowered,
          far.flatMap(({ missing }) => (Math.abs(missing) <= TOLD ? [] : [missed(asked - missing, most)])),
        );
      return {
        steps: [],
        next: settled(
          lowered.map((level, place) => louder(level, far[place]?.missing ?? 0)),
          looks + 1,
        ),
      };
    });

  return {
    steps: [],
    next: look([], (found) => {
      const levels = found.map(({ loudness, peak }) =>
        loudness <= SILENCE ? UNCHANGED : { gain: asked - loudness, limit: peak + asked - loudness > most ? most - MARGIN : undefined },
      );
      if (levels.some(({ limit }) => limit !== undefined)) return { steps: [], next: settled(levels, 1) };
      return done(levels, levels.includes(UNCHANGED) ? [SILENT] : []);
    }),
  };
}

const UNCHANGED: Level = { gain: undefined, limit: undefined };
const louder = ({ gain, limit }: Level, by: number): Level => ({ gain: gain === undefined ? undefined : gain + by, limit });
const lower = ({ gain, limit }: Level, by: number): Level => ({ gain, limit: limit === undefined ? undefined : limit - by });
const NOTHING: Measured = { loudness: SILENCE, peak: SILENCE };
const SILENT = { code: 'loudness_missed', message: 'The sound is silence, or too short to be measured: its loudness stays.' };
const missed = (reached: number, most: number) => ({
  code: 'loudness_missed',
  message: `With a true peak of ${most} dBTP the sound has ${reached.toFixed(1)} LUFS.`,
});

function filters({ gain, limit }: Level, rate: number): readonly string[] {
  if (gain === undefined) return [];
  const volume = `volume=${gain.toFixed(2)}dB`;
  if (limit === undefined) return [volume];
  const limiter = `alimiter=level=disabled:limit=${(10 ** (limit / 20)).toFixed(4)}:attack=2:release=40:latency=1`;
  return [volume, `aresample=${PEAK_RATE}`, limiter, `aresample=${rate}`];
}

const measure = (task: Task, time: Timeline, chains: readonly (readonly string[])[], sounds: readonly LevelledSound[]) =>
  command({
    task,
    timeline: { ...time, progress: () => undefined },
    says: true,
    encode: [
      '-filter_complex',
      chains
        .map(
          (chain, place) => `[0:${sounds[place]?.index}]${[...chain, `ebur128@${place}=peak=true:framelog=verbose`].join(',')}[m${place}]`,
        )
        .join(';'),
      ...sounds.flatMap((_, place) => ['-map', `[m${place}]`]),
      ...['-f', 'null'],
    ],
    to: '-',
  });

/** What a file is called stands before what its filters say: the last of each counts. */
function readMeasured(said: string, count: number): readonly Measured[] {
  const found: Measured[] = Array.from({ length: count }, () => NOTHING);
  for (const summary of said.split('[ebur128@').slice(1)) {
    const place = Number.parseInt(summary, 10);
    const [loudness, peak] = [/^ {4}I: {1,12}(-?[\d.]{1,8}) LUFS$/m, /^ {4}Peak: {1,12}(-?[\d.]{1,8}) dBFS$/m].map(
      (line) => line.exec(summary)?.[1],
    );
    if (loudness !== undefined && place in found) found[place] = { loudness: Number(loudness), peak: Number(peak ?? SILENCE) };
  }
  return found;
}
