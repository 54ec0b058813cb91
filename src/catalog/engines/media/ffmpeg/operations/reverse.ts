/** Reverses a video and its audio. FFmpeg holds all frames in memory to reverse them, so a large video is reversed in parts. */
import { conversionFailed, inputLimit } from '../../../../../errors.ts';
import type { EngineWarning, Plan, ProcessStep, Task } from '../../../../engine.ts';
import { decoded, decoderArguments, onWhite } from '../colours.ts';
import { command, dropped, tags } from '../command.ts';
import type { VideoContainer } from '../containers.ts';
import { type MediaFacts, mediaOf, shownSize, type VideoStream } from '../streams.ts';
import { progressOf } from '../timeline.ts';
import { encodePicture, encodeSound } from '../video.ts';
import { concatList, LIST_INPUT } from './concat.ts';
import { videoAsItIs } from './keep.ts';

export const MAX_REVERSED_SECONDS = 60;
/** Decoded frames in memory at a time, bytes. */
const FRAMES_BYTES = 400 * 1024 * 1024;
/** Assumed if the file does not state its rate: the highest that is common. */
const LIKELY_FPS = 60;

/** @throws Failure `no_stream` without video, `input_limit` above a minute */
export function planReversed(task: Task): Plan {
  const media = mediaOf(task.facts);
  const container = videoAsItIs(task);
  const picture = media.video[0];
  if (container === undefined || picture === undefined) throw conversionFailed('no_stream');
  const length = media.duration ?? picture.seconds;
  if ((length ?? 0) > MAX_REVERSED_SECONDS) throw inputLimit('seconds of video to reverse', MAX_REVERSED_SECONDS, Math.ceil(length ?? 0));
  const parts = inParts(picture, length);
  return {
    warnings: [...unmeasured(length), ...lost(media, container)],
    steps:
      parts.length === 1
        ? [whole(task, container, picture)]
        : [...parts.map((part, place) => turned(task, part, place)), joined(task, container, picture, parts.length)],
  };
}

interface Part {
  /** Seconds. */
  readonly from: number;
  /** Undefined for the last part, which takes the rest. */
  readonly seconds: number | undefined;
}

/** Divides the video into parts of equal length, each small enough for memory; the boundaries lie between two frames. */
function inParts(picture: VideoStream, length: number | undefined): readonly Part[] {
  const { width, height } = shownSize(picture);
  const fps = picture.fps || LIKELY_FPS;
  const seconds = picture.seconds ?? length ?? MAX_REVERSED_SECONDS;
  const most = Math.max(2, Math.floor(FRAMES_BYTES / (width * height * 1.5)));
  const frames = Math.ceil(seconds * fps);
  if (length === undefined || frames <= most) return [{ from: 0, seconds: undefined }];
  const each = Math.ceil(frames / Math.ceil(frames / most));
  const count = Math.ceil(frames / each);
  const at = (place: number) => (place === 0 ? 0 : (place * each - 0.5) / fps);
  return Array.from({ length: count }, (_, place) => ({
    from: at(place),
    seconds: place === count - 1 ? undefined : at(place + 1) - at(place),
  }));
}

/** Reverses the video in one step. */
function whole(task: Task, container: VideoContainer, picture: VideoStream): ProcessStep {
  return command({
    task,
    decode: decoderArguments(picture),
    timeline: stretch(mediaOf(task.facts).duration, ['-t', `${MAX_REVERSED_SECONDS}`]),
    encode: [
      '-map',
      `0:${picture.index}`,
      ...backwards(encodePicture(task.target, container, picture, task.options)),
      ...result(task, container),
    ],
    to: `${task.output}/out.${task.target}`,
  });
}

/** Reverses one part, almost lossless since it is encoded again. */
function turned(task: Task, { from, seconds }: Part, place: number): ProcessStep {
  const film = mediaOf(task.facts).video[0];
  const picture = film?.index ?? 0;
  const shape = [
    ...(film === undefined ? [] : [...decoded(film, {}), ...onWhite(film)]),
    'scale=trunc(iw/2)*2:trunc(ih/2)*2,setsar=1,format=yuv420p,reverse,setpts=PTS-STARTPTS',
  ].join(',');
  return command({
    task,
    decode: film === undefined ? [] : decoderArguments(film),
    timeline: stretch(seconds, [
      ...(from > 0 ? ['-ss', from.toFixed(6)] : []),
      ...(seconds === undefined ? [] : ['-t', seconds.toFixed(6)]),
    ]),
    encode: [
      ...['-map', `0:${picture}`, '-an', '-sn', '-dn', '-vf', shape],
      ...['-c:v', 'libx264', '-preset', 'ultrafast', '-crf', '8', '-f', 'mov'],
    ],
    to: partOf(task, place),
  });
}

/** Joins the parts, last one first, and reverses the audio as a whole. */
function joined(task: Task, container: VideoContainer, picture: VideoStream, count: number): ProcessStep {
  const paths = Array.from({ length: count }, (_, place) => partOf(task, count - 1 - place));
  const step = command({
    task,
    timeline: stretch(mediaOf(task.facts).duration, []),
    inputs: LIST_INPUT,
    encode: ['-map', '1:v:0', ...encodePicture(task.target, container, plain(picture), task.options), ...result(task, container)],
    to: `${task.output}/out.${task.target}`,
  });
  return { ...step, stdin: concatList(paths) };
}

/** As the parts are: on white, and of 4:2:0. */
const plain = (picture: VideoStream): VideoStream => ({ ...picture, codec: 'h264', pixels: 'yuv420p', alphaBeside: false });

const partOf = ({ scratch }: Task, place: number): string => `${scratch}/part-${String(place).padStart(4, '0')}.mov`;

/** Arguments for the audio, reversed from the end of the video, and for tags and the container. */
function result(task: Task, container: VideoContainer): readonly string[] {
  const { audio, video } = mediaOf(task.facts);
  const end = video[0]?.seconds;
  // The audio of the last frame must come with the first.
  const fitted = end === undefined ? '' : `apad=whole_dur=${end.toFixed(6)},atrim=end=${end.toFixed(6)},`;
  const sounds = container.many ? audio : audio.slice(0, 1);
  return [
    ...sounds.flatMap(({ index }) => ['-map', `0:${index}`]),
    ...sounds.flatMap((stream, place) => {
      const args = encodeSound(container, stream, task.options, place);
      const name = `-filter:a:${place}`;
      const at = args.indexOf(name);
      const after = at < 0 ? '' : `,${args[at + 1]}`;
      const rest = at < 0 ? args : args.toSpliced(at, 2);
      return [...rest, name, `aresample=async=1:first_pts=0,${fitted}areverse${after}`];
    }),
    ...['-sn', '-dn'],
    ...tags(task.source, video[0]?.index ?? 0, false),
    ...['-map_chapters', '-1'],
    ...container.muxer,
  ];
}

function backwards(args: readonly string[]): readonly string[] {
  const at = args.indexOf('-vf');
  return args.toSpliced(at + 1, 1, `${args[at + 1]},format=yuv420p,reverse`);
}

const stretch = (seconds: number | undefined, args: readonly string[]) => ({ args, progress: progressOf(seconds) });

const unmeasured = (length: number | undefined): readonly EngineWarning[] =>
  length !== undefined
    ? []
    : [
        {
          code: 'length_unknown',
          message: `The length of the file is unknown: at most its first ${MAX_REVERSED_SECONDS} seconds are used.`,
        },
      ];

/** Subtitles cannot be reversed. */
const lost = ({ video, audio, subtitles, covers, others }: MediaFacts, { many }: VideoContainer): readonly EngineWarning[] =>
  dropped(video.length - 1 + (many ? 0 : Math.max(0, audio.length - 1)) + subtitles.length + covers.length + others);
