/** FFmpeg: audio and video, copied into another container where that is possible, else encoded. */
import { type Conversion, type Engine, everyPair, type Plan, type Task } from '../../engine.ts';
import { formatOf } from '../../formats.ts';
import { GIF, WAV } from '../../known-good.ts';
import { ANIMATIONS, AUDIO, DEMUXERS, RATELESS, SILENT, VIDEO } from './ffmpeg/containers.ts';
import { explainFfmpeg } from './ffmpeg/explain.ts';
import { pictureOptions, planAnimation, planGif, planStill, STILLS } from './ffmpeg/operations/pictures.ts';
import { probeStep, readProbe } from './ffmpeg/probe.ts';
import { planSound, soundOptions } from './ffmpeg/sound.ts';
import { planVideo, refuseCodec, soundOptionsOf, VIDEO_OPTIONS } from './ffmpeg/video.ts';

const ofFamily = (family: string) => Object.keys(DEMUXERS).filter((source) => formatOf(source).family === family);
const [SOUNDS, VIDEOS] = [ofFamily('audio'), ofFamily('video')];
const VIDEO_TARGETS = Object.keys(VIDEO);

export const engine: Engine = {
  id: 'ffmpeg',
  name: 'FFmpeg',
  role: 'audio_video',
  toolchains: ['media'],
  binaries: {
    ffmpeg: { at: ['/usr/bin/ffmpeg'], version: { args: ['-version'], pattern: /^ffmpeg version n?(\d+\.\d+(?:\.\d+)?)/ } },
    ffprobe: { at: ['/usr/bin/ffprobe'] },
    cover: { at: ['program:sound/cover.ts'] },
  },
  conversions: [
    ...among(SOUNDS, Object.keys(AUDIO), 80),
    ...among(VIDEOS, VIDEO_TARGETS, 80),
    ...among(
      VIDEOS.filter((source) => !SILENT.has(source)),
      Object.keys(AUDIO),
      80,
    ),
    ...everyPair(VIDEOS, ['gif'], { rank: 60, loses: ['colours beyond 256'] }),
    ...everyPair([...VIDEOS, 'gif'], ['apng'], { rank: 60 }),
    { source: 'apng', target: 'gif', rank: 80, loses: ['colours beyond 256'] },
    { source: 'apng', target: 'webp', rank: 80 },
    ...everyPair(VIDEOS, STILLS, { rank: 70 }),
    ...everyPair(
      [...ANIMATIONS],
      VIDEO_TARGETS.filter((target) => !RATELESS.has(target)),
      { rank: 70 },
    ),
  ],
  trials: [
    { file: WAV, target: 'mp3' },
    { file: GIF, target: 'mp4' },
  ],
  options: (source, target) => {
    if (target in AUDIO) return [...soundOptions(target), 'track', 'audio_track', 'start_time', 'end_time', 'strip_metadata'];
    if (target in VIDEO)
      return [...VIDEO_OPTIONS, ...(ANIMATIONS.has(source) ? [] : soundOptionsOf(target)), 'start_time', 'end_time', 'strip_metadata'];
    return pictureOptions(source, target);
  },
  inspect: {
    step: probeStep,
    read: readProbe,
    results: new Set([...Object.keys(AUDIO), ...VIDEO_TARGETS].filter((target) => target in DEMUXERS)),
  },
  refuse: (_, target, options) => refuseCodec(target, options),
  plan,
  explain: explainFfmpeg,
  limits: { memoryBytes: 2 * 1024 ** 3, wallMs: 3_600_000, cpuSeconds: 7200 },
};

/** Every source to every target, including a format to itself, which is re-encoded if an option requires it. */
function among(sources: readonly string[], targets: readonly string[], rank: number): Conversion[] {
  return sources.flatMap((source) =>
    targets.map((target) => {
      const loses = AUDIO[target]?.loses;
      return { source, target, rank, ...(loses === undefined ? {} : { loses }) };
    }),
  );
}

function plan(task: Task): Plan {
  if (task.target in AUDIO) return planSound(task);
  if (task.target in VIDEO) return planVideo(task);
  if (task.target === 'gif') return planGif(task);
  return task.target === 'apng' || ANIMATIONS.has(task.source) ? planAnimation(task) : planStill(task);
}
