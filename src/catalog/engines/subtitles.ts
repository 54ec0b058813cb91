/** Subtitles by FFmpeg: text files from one another, and the text tracks of videos; as plain text by a program of our own. */
import { conversionFailed } from '../../errors.ts';
import { type Binary, type Engine, type EngineWarning, everyPair, type Facts, type Plan, type ProcessStep, type Task } from '../engine.ts';
import { SRT } from '../known-good.ts';
import { explain } from './ffmpeg/explain.ts';
import { demuxerArguments, probeStep, readProbe } from './ffmpeg/probe.ts';
import { mediaOf } from './ffmpeg/streams.ts';
import { engine as ffmpeg } from './ffmpeg.ts';

const CAPTIONS: Binary = { at: ['program:captions.ts'] };
/** FFmpeg's names of what reads and writes each. */
const READS: Readonly<Record<string, string>> = { srt: 'srt', vtt: 'webvtt', ass: 'ass', sub: 'microdvd' };
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
    ...(isPlain ? [] : (LOSES[target] ?? [])),
    ...(source === 'sub' ? ['exact times (the file counts frames and may not tell their rate)'] : []),
  ];
  return loses.length === 0 ? {} : { loses };
};

export const engine: Engine = {
  id: 'subtitles',
  name: 'FFmpeg',
  role: 'audio_video',
  toolchains: ['media'],
  binaries: { ...ffmpeg.binaries, captions: CAPTIONS },
  conversions: [
    ...everyPair(Object.keys(READS), [...Object.keys(WRITES), ...Object.keys(WITHOUT_TAGS)], { rank: 80 }),
    ...everyPair(VIDEOS, ['srt', 'vtt', 'ass', 'txt'], { rank: 60 }),
  ].map((pair) => ({ ...pair, ...losesOf(pair.source, pair.target) })),
  trials: [{ file: SRT, target: 'vtt' }],
  options: () => [],
  inspect: {
    step: (input, task) => (isVideo(task.source) ? probeStep(input, task) : { run: 'captions', args: ['charset', input] }),
    read: (stdout, { source }) => (isVideo(source) ? readTrack(readProbe(stdout)) : (JSON.parse(stdout) as Facts)),
  },
  plan,
  explain: (output) => {
    const reason = explain(output);
    // A text without a single cue.
    return reason === 'no_stream' ? 'corrupt_input' : reason;
  },
  limits: { memoryBytes: 1024 ** 3, wallMs: 600_000, cpuSeconds: 600 },
};

const isVideo = (source: string): boolean => READS[source] === undefined;

function readTrack(facts: Facts): Facts {
  const tracks = mediaOf(facts).subtitles;
  const texts = tracks.filter(({ codec }) => !PICTURED.has(codec));
  if (tracks.length === 0) throw conversionFailed('no_stream', { says: 'The video has no subtitles.' });
  if (texts.length === 0)
    throw conversionFailed('unsupported_variant', {
      says: 'The subtitles of the video are pictures: there is no text in them to take out.',
    });
  return { track: texts[0]?.index, tracks: texts.length };
}

function plan(task: Task): Plan {
  const { source, target, input, output, scratch, facts } = task;
  const charset = facts['charset'] as string | undefined;
  const result = `${output}/subtitles.${target}`;
  const between = `${scratch}/captions.srt`;
  const verb = WITHOUT_TAGS[target];
  const isUtf8 = charset === undefined || charset === 'utf-8';
  const text = isUtf8 ? input : `${scratch}/utf8.${source}`;
  const decode: Plan['steps'] = isUtf8 ? [] : [{ run: 'captions', args: ['utf8', input, text, charset] }];
  const read = [
    ...(isVideo(source) ? demuxerArguments(source) : ['-protocol_whitelist', 'file,pipe', '-f', READS[source] ?? '']),
    ...['-i', text, '-map', `0:${facts['track'] ?? 0}`],
    // Times as the video has them, and not from its first packet on.
    ...(isVideo(source) ? ['-copyts'] : []),
  ];
  const steps = (): Plan['steps'] => {
    if (verb !== undefined) return [rewrite(read, 'srt', between), { run: 'captions', args: [verb, between, result] }];
    // The writer of TTML asks for the size of a picture, which an ASS file need not tell.
    if (target === 'ttml' && source === 'ass')
      return [rewrite(read, 'srt', between), rewrite(['-f', 'srt', '-i', between], 'ttml', result)];
    return [rewrite(read, WRITES[target] ?? '', result)];
  };
  return { steps: [...decode, ...steps()], warnings: warningsOf(charset, facts['tracks'] as number | undefined) };
}

const rewrite = (read: readonly string[], muxer: string, to: string): ProcessStep => ({
  run: 'ffmpeg',
  args: ['-nostdin', '-hide_banner', '-y', '-v', 'error', '-abort_on', 'empty_output', ...read, '-map_metadata', '-1', '-f', muxer, to],
});

const warningsOf = (charset: string | undefined, tracks = 1): readonly EngineWarning[] => [
  ...(charset === 'windows-1252' ? [{ code: 'lossy', message: 'The text is no UTF-8: it was read as Windows-1252.' }] : []),
  ...(tracks > 1 ? [{ code: 'streams_dropped', message: `The video has ${tracks} subtitle tracks: the first one was taken.` }] : []),
];
