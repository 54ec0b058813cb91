/** Subtitles by FFmpeg: text files from one another, and the text tracks of videos; as plain text by a program of our own. */
import { conversionFailed } from '../../../errors.ts';
import { type Binary, type Engine, everyPair, type Facts, type Plan, type ProcessStep, type Task } from '../../engine.ts';
import { SRT } from '../../known-good.ts';
import { charsetOf, toUtf8, UTF8 } from '../../planning/documents/text.ts';
import { reasonOfText } from '../../planning/told.ts';
import { command } from './ffmpeg/command.ts';
import { explainFfmpeg } from './ffmpeg/explain.ts';
import { probeStep, readProbe } from './ffmpeg/probe.ts';
import { mediaOf } from './ffmpeg/streams.ts';
import { engine as ffmpeg } from './ffmpeg.ts';

const CAPTIONS: Binary = { at: ['program:sound/captions.ts'] };
const TEXTS = ['srt', 'vtt', 'ass', 'sub'];
/** Read by our program: FFmpeg gives the last line of lyrics no duration, and has no reader of TTML. */
const READ = ['lrc', 'ttml'];
/** FFmpeg's names of what writes each. */
const WRITES: Readonly<Record<string, string>> = { srt: 'srt', vtt: 'webvtt', ass: 'ass', ttml: 'ttml' };
/** Written by our program from SRT: FFmpeg leaves tags of styles in lyrics. */
const WITHOUT_TAGS: Readonly<Record<string, string>> = { txt: 'text', lrc: 'lrc' };
const VIDEOS = ['mp4', 'm4v', 'mov', 'mkv', 'webm'];
/** Tracks that are pictures, by FFmpeg's names of their codecs. */
const PICTURED: ReadonlySet<string> = new Set(['hdmv_pgs_subtitle', 'dvd_subtitle', 'dvb_subtitle', 'xsub']);

const LOSES: Readonly<Record<string, readonly string[]>> = {
  srt: ['styles and positions beyond bold, italic and colours'],
  vtt: ['styles and positions beyond bold, italic and underlined'],
  lrc: ['when each line ends', 'styles'],
  ttml: ['styles'],
  txt: ['times', 'styles'],
};
/** What a source may have that a target has not. */
const losesOf = (source: string, target: string): { readonly loses?: readonly string[] } => {
  const isPlain = source === 'srt' && target === 'vtt';
  const loses = [
    ...(isPlain || (READ.includes(source) && WITHOUT_TAGS[target] === undefined) ? [] : (LOSES[target] ?? [])),
    ...(source === 'sub' ? ['exact times (the file counts frames and may not tell their rate)'] : []),
    ...(source === 'ttml' && !(target in WITHOUT_TAGS) ? ['styles'] : []),
  ];
  return loses.length === 0 ? {} : { loses };
};

export const engine: Engine = {
  id: 'subtitles',
  name: 'FFmpeg',
  role: 'audio_video',
  toolchains: ['media'],
  binaries: { ...ffmpeg.binaries, captions: CAPTIONS, utf8: UTF8 },
  conversions: [
    ...everyPair([...TEXTS, ...READ], [...Object.keys(WRITES), ...Object.keys(WITHOUT_TAGS)], { rank: 80 }),
    ...everyPair(VIDEOS, ['srt', 'vtt', 'ass', 'txt'], { rank: 60 }),
  ].map((pair) => ({ ...pair, ...losesOf(pair.source, pair.target) })),
  trials: [
    { file: SRT, target: 'vtt' },
    { file: SRT, target: 'txt' },
  ],
  options: (source) => (VIDEOS.includes(source) ? [] : ['charset']),
  inspect: { sources: new Set(VIDEOS), step: probeStep, read: (stdout) => readTrack(readProbe(stdout)) },
  plan,
  explain: (output, code) => {
    const reason = reasonOfText(output, code) ?? explainFfmpeg(output);
    // A text without a single cue.
    return reason === 'no_stream' ? 'corrupt_input' : reason;
  },
  limits: { memoryBytes: 1024 ** 3, wallMs: 600_000, cpuSeconds: 600 },
};

/** The first track of text, and how many there are. */
interface Track extends Facts {
  readonly track: number;
  /** Lines with drawings and remarks, which FFmpeg would write as text. */
  readonly drawn: boolean;
  readonly tracks: number;
}

function readTrack(facts: Facts): Track {
  const tracks = mediaOf(facts).subtitles;
  const texts = tracks.filter(({ codec }) => !PICTURED.has(codec));
  if (tracks.length === 0) throw conversionFailed('no_stream', { says: 'The video has no subtitles.' });
  const [first] = texts;
  if (first === undefined)
    throw conversionFailed('unsupported_variant', {
      says: 'The subtitles of the video are pictures: they contain no text.',
    });
  return { track: first.index, drawn: ['ass', 'ssa'].includes(first.codec), tracks: texts.length };
}

function plan(task: Task): Plan {
  const { source, target, input, output, scratch } = task;
  const { track = 0, tracks = 1, drawn = source === 'ass' } = task.facts as Partial<Track>;
  const [isText, isRead] = [TEXTS.includes(source), READ.includes(source)];
  const result = `${output}/subtitles.${target}`;
  const between = { source: 'srt', input: `${scratch}/captions.srt` };
  const verb = WITHOUT_TAGS[target];
  const isDrawn = drawn && target !== 'ass';
  const found = { source: isRead ? 'srt' : source, input: isRead || isText ? `${scratch}/utf8.${isRead ? 'srt' : source}` : input };
  // Times as a video has them, and not from its first packet on.
  const from = ['-map', `0:${track}`, ...(isText || isRead ? [] : ['-copyts'])];
  const lines = isText ? found : { source: 'ass', input: `${scratch}/lines.ass` };
  const first = isDrawn ? { source: 'ass', input: `${scratch}/plain.ass` } : found;
  const map = isDrawn ? ['-map', '0:0'] : from;
  const spoken: Plan['steps'] = isDrawn
    ? [...(isText ? [] : [rewrite(found, from, 'ass', lines.input)]), { run: 'captions', args: ['plain', lines.input, first.input] }]
    : [];
  const steps = (): Plan['steps'] => {
    if (isRead && target === 'srt') return [];
    if (verb !== undefined) return [rewrite(first, map, 'srt', between.input), { run: 'captions', args: [verb, between.input, result] }];
    // The writer of TTML asks for the size of a picture, which an ASS file need not tell.
    if (target === 'ttml' && source === 'ass')
      return [rewrite(first, map, 'srt', between.input), rewrite(between, ['-map', '0:0'], 'ttml', result)];
    return [rewrite(first, map, WRITES[target] ?? '', result)];
  };
  // FFmpeg would drop what looks like a tag.
  const into = target === 'srt' ? result : found.input;
  const read: ProcessStep = { run: 'captions', args: ['read', input, source, into, ...charsetOf(task.options)], answers: true };
  const decode: Plan['steps'] = isRead ? [read] : isText ? [toUtf8(task, found.input)] : [];
  const others = { code: 'streams_dropped', message: `The video has ${tracks} subtitle tracks: the first one was taken.` };
  return { steps: [...decode, ...spoken, ...steps()], warnings: tracks > 1 ? [others] : [] };
}

const rewrite = (task: Pick<Task, 'source' | 'input'>, map: readonly string[], muxer: string, to: string): ProcessStep =>
  command({ task, timeline: { args: [], progress: () => undefined }, encode: [...map, '-map_metadata', '-1', '-f', muxer], to });
