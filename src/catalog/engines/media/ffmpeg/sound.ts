/** Converts audio, or the audio of a video: copies it if the target can contain its codec and no option changes it, else encodes it. */
import { conversionFailed, type Failure, misfit } from '../../../../errors.ts';
import type { EngineWarning, Plan, ProcessStep, Task } from '../../../engine.ts';
import { isDefault } from '../../../options/defaults.ts';
import type { OptionName, Options } from '../../../options/options.ts';
import { command, dropped, ONE_PICTURE, tags } from './command.ts';
import { AUDIO, type AudioContainer } from './containers.ts';
import { AUDIO_ENCODERS, type AudioEncoder, type AudioSettings, asEncoded, encodeAudio, mixed, rateOf } from './encoders.ts';
import { atLoudness, LEVEL_OPTIONS } from './loudness.ts';
import { type AudioStream, type Common, type MediaFacts, mediaOf } from './streams.ts';
import { timeline } from './timeline.ts';

/** @returns the options that change this target's sound */
export function soundOptions(target: string): readonly OptionName[] {
  const row: AudioEncoder | undefined = AUDIO[target] && AUDIO_ENCODERS[AUDIO[target].encode];
  if (target === 'mp3') return ['mp3_mode', 'mp3_quality', 'mp3_bitrate', 'audio_rate', 'audio_channels', ...LEVEL_OPTIONS];
  if (target === 'wav') return ['wav_rate', 'wav_depth', 'wav_channels', ...LEVEL_OPTIONS];
  return [
    ...LEVEL_OPTIONS,
    ...(row?.bitrate ? (['audio_bitrate'] as const) : []),
    ...(row?.rates?.length === 1 ? [] : (['audio_rate'] as const)),
    'audio_channels',
  ];
}

/** @throws Failure `no_stream` if there is no such audio track */
export function planSound(task: Task, container: AudioContainer | undefined = AUDIO[task.target]): Plan {
  const { target, options, facts } = task;
  const media = mediaOf(facts);
  const stream = options.track === undefined ? soundTrack(media, options) : media.audio[options.track - 1];
  if (container === undefined || stream === undefined) throw conversionFailed('no_stream');
  const settings = settingsOf(target, options);
  const planned = (level?: readonly string[]) => planTrack(task, container, stream, { ...settings, level });
  if (options.loudness === undefined) return planned();
  const { index } = stream;
  const sound = { index, rate: rateOf(container.encode, stream, settings), filters: asEncoded(container.encode, stream, settings) };
  return atLoudness(task, timeline(task), [sound], ([level]) => planned(level));
}

/** @throws Failure `INVALID_OPTION` where the recording has fewer */
export function soundTrack({ audio }: MediaFacts, { audio_track: asked }: Pick<Options, 'audio_track'>): AudioStream | undefined {
  const stream = audio[(asked ?? 1) - 1];
  if (asked !== undefined && stream === undefined) throw noTrack('audio_track', asked, 'audio', audio.length);
  return stream;
}

/** @param has how many there are */
export function noTrack(option: 'audio_track' | 'burn_subtitles', asked: number, kind: string, has: number): Failure {
  const tracks = has === 0 ? `no ${kind} track` : has === 1 ? `one ${kind} track` : `${has} ${kind} tracks`;
  return misfit({
    option,
    received: `${asked}`,
    allowed: has === 0 ? 'nothing for this recording' : `1 to ${has} for this recording`,
    says: `The recording has ${tracks}; ${option} is ${asked}.`,
  });
}

function planTrack(task: Task, container: AudioContainer, stream: AudioStream, settings: AudioSettings): Plan {
  const { target, options, output, facts } = task;
  const media = mediaOf(facts);
  const time = timeline(task);
  const change =
    time.cut ||
    Object.values(settings).some((value) => value !== undefined) ||
    options.mp3_mode !== undefined ||
    options.mp3_quality !== undefined;
  const isEncoded = change || !container.holds.includes(stream.codec);
  const cover =
    container.cover && !options.strip_metadata ? media.covers.find(({ codec }) => codec === 'mjpeg' || codec === 'png') : undefined;
  const beside = container.cover === 'stream' ? undefined : cover;
  return {
    warnings: [
      ...time.warnings,
      ...ofAnotherMode(target, options),
      ...dropped(media.covers.length - (cover === undefined ? 0 : 1)),
      ...(isEncoded && settings.channels === undefined ? mixed(stream.channels, AUDIO_ENCODERS[container.encode].maxChannels) : []),
    ],
    steps: [
      ...(beside === undefined ? [] : coverFile(task, beside, container)),
      command({
        task,
        timeline: time,
        inputs: beside !== undefined && container.cover === 'comment' ? ['-f', 'ffmetadata', '-i', commentIn(task)] : [],
        // A cover alone would otherwise be a result, where the file was cut before its sound.
        // An attached file has no packets, and would count as an empty stream.
        ...(beside !== undefined && container.cover === 'attachment' ? {} : { full: true as const }),
        encode: [
          ...['-map', `0:${stream.index}`],
          ...(cover === undefined || beside !== undefined
            ? ['-vn']
            : ['-map', `0:${cover.index}`, '-c:v', 'copy', '-disposition:v:0', 'attached_pic']),
          ...['-sn', '-dn'],
          ...tags(task.source, stream.index, options.strip_metadata),
          ...(container.marks ? chapterComments(task, target === 'flac' ? '-metadata' : '-metadata:s:a:0') : []),
          ...(beside === undefined ? [] : coverArguments(task, beside, container)),
          ...(isEncoded ? encoded(target, container, stream, settings, options) : ['-c:a', 'copy']),
          ...container.muxer,
        ],
        to: `${output}/out.${target}`,
      }),
    ],
  };
}

/** More than any book has: their names are arguments of a command. */
const [MOST_CHAPTERS, LONGEST_NAME] = [500, 200];

/** @param metadata FFmpeg's option for a comment of the file, or of its stream */
function chapterComments({ options, facts }: Task, metadata: string): readonly string[] {
  const { marks } = mediaOf(facts);
  if (options.strip_metadata || marks.length === 0) return [];
  const { start_time: start = 0, end_time: end = Number.POSITIVE_INFINITY } = options;
  const kept = marks.filter(({ seconds }) => seconds >= start && seconds < end).slice(0, MOST_CHAPTERS);
  const comments = kept.flatMap(({ seconds, title }, place) => {
    const name = `CHAPTER${String(place).padStart(3, '0')}`;
    return [`${name}=${clock(seconds - start)}`, `${name}NAME=${title.slice(0, LONGEST_NAME)}`];
  });
  // FFmpeg puts the last comment where it replaces the source's encoder: a name must stay behind its chapter.
  return ['-map_chapters', '-1', ...['encoder=', ...comments].flatMap((comment) => [metadata, comment])];
}

/** `01:02:03.500` */
const clock = (seconds: number): string => new Date(Math.round(seconds * 1000)).toISOString().slice(11, 23);

/** The name that readers of Matroska look for, and the ending that tells the kind of picture. */
const coverName = ({ codec }: Common): string => (codec === 'png' ? 'cover.png' : 'cover.jpg');
const coverPath = ({ scratch }: Task, cover: Common): string => `${scratch}/${coverName(cover)}`;
const commentIn = ({ scratch }: Task): string => `${scratch}/comment.txt`;

/** Takes the cover out of the source, and makes a comment of it where the target wants one. */
function coverFile(task: Task, cover: Common, container: AudioContainer): readonly ProcessStep[] {
  const file = command({
    task,
    timeline: { args: [], progress: () => undefined },
    encode: ['-map', `0:${cover.index}`, '-c', 'copy', ...ONE_PICTURE],
    to: coverPath(task, cover),
  });
  return container.cover === 'comment' ? [file, { run: 'cover', args: [coverPath(task, cover), commentIn(task)] }] : [file];
}

const coverArguments = (task: Task, cover: Common, container: AudioContainer): readonly string[] =>
  container.cover === 'comment'
    ? ['-map_metadata:s:a:0', '1:g']
    : [
        ...['-attach', coverPath(task, cover), '-metadata:s:t:0', `mimetype=image/${cover.codec === 'png' ? 'png' : 'jpeg'}`],
        ...['-metadata:s:t:0', `filename=${coverName(cover)}`],
      ];

function encoded(
  target: string,
  { encode }: AudioContainer,
  stream: AudioStream,
  settings: AudioSettings,
  options: Options,
): readonly string[] {
  const args = encodeAudio(encode, stream, settings);
  if (target !== 'mp3') return args;
  const bitrate = args.indexOf('-b:a');
  return args.toSpliced(bitrate, 2, ...mp3Quality(options));
}

/** Arguments for LAME's three bit-rate modes. A bit rate without a mode means constant bit rate. */
function mp3Quality(options: Options): string[] {
  const mode = mp3Mode(options);
  if (mode === 'vbr') return ['-q:a', `${options.mp3_quality ?? 2}`];
  return ['-b:a', `${options.mp3_bitrate ?? 192}k`, ...(mode === 'abr' ? ['-abr', '1'] : [])];
}

const mp3Mode = ({ mp3_mode: mode, mp3_bitrate: bitrate }: Options) => mode ?? (bitrate === undefined ? 'vbr' : 'cbr');

/** Warns about an option that the mode does not use: a bit rate with vbr, or a quality with the others. */
function ofAnotherMode(target: string, options: Options): readonly EngineWarning[] {
  if (target !== 'mp3') return [];
  const mode = mp3Mode(options);
  const [name, value] = mode === 'vbr' ? (['mp3_bitrate', options.mp3_bitrate] as const) : (['mp3_quality', options.mp3_quality] as const);
  return value === undefined || isDefault(name, value)
    ? []
    : [{ code: 'option_ignored', message: `The option ${name} has no effect with mp3_mode ${mode}.` }];
}

function settingsOf(target: string, options: Options): AudioSettings {
  if (target === 'wav') return { rate: options.wav_rate, channels: options.wav_channels, depth: options.wav_depth };
  const { audio_rate: rate, audio_channels: channels, audio_bitrate, mp3_bitrate } = options;
  return {
    rate,
    channels,
    bitrate: target === 'mp3' ? mp3_bitrate : soundOptions(target).includes('audio_bitrate') ? audio_bitrate : undefined,
  };
}
