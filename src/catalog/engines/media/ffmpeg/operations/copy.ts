/** Copies parts of a recording without re-encoding: cut between packets, or without audio. */
import { conversionFailed } from '../../../../../errors.ts';
import type { EngineWarning, Plan, Task } from '../../../../engine.ts';
import { command, dropped, tags } from '../command.ts';
import { AUDIO, VIDEO, type VideoContainer } from '../containers.ts';
import { planSound } from '../sound.ts';
import { type Common, type MediaFacts, mediaOf } from '../streams.ts';
import { timeline } from '../timeline.ts';
import { planVideo } from '../video.ts';
import { soundAsItIs, videoAsItIs } from './keep.ts';

/** Nearly lossless quality for streams that cannot be copied, as `video_crf`. */
const NEAR_CRF = 18;

const encodedAnew = (what: string): EngineWarning => ({
  code: 'encoded_anew',
  message: `The target format cannot contain the ${what} unchanged: it was re-encoded.`,
});

/** Cuts audio between packets, to some hundredths of a second. @throws Failure `no_stream` */
export function planSoundCopied(task: Task): Plan {
  const { source, target, output, facts } = task;
  const { audio, covers } = mediaOf(facts);
  const [container, stream] = [AUDIO[target], audio[0]];
  if (container === undefined || stream === undefined) throw conversionFailed('no_stream');
  if (container.counts || !(source === target || container.holds.includes(stream.codec))) {
    const plan = planSound(task, soundAsItIs(task));
    // A lossless encoder gives the same audio as a copy.
    return container.counts ? plan : { ...plan, warnings: [...(plan.warnings ?? []), encodedAnew('sound')] };
  }
  const time = timeline(task);
  const cover = container.cover === 'stream' ? covers.slice(0, 1) : [];
  return {
    warnings: [...time.warnings, ...dropped(audio.length - 1 + covers.length - cover.length)],
    steps: [
      command({
        task,
        timeline: time,
        // FFmpeg seeks Ogg by pages of a second: drop what comes before the start.
        full: true,
        encode: [
          ...[stream, ...cover].flatMap(map),
          ...['-c', 'copy', '-copypriorss:a', '0'],
          ...tags(source, stream.index, false),
          ...container.muxer,
        ],
        to: `${output}/out.${target}`,
      }),
    ],
  };
}

/** Cuts a video, beginning at the key frame before the start. @throws Failure `no_stream` */
export function planVideoCopied(task: Task): Plan {
  const media = mediaOf(task.facts);
  const time = timeline(task);
  const container = containerOf(task);
  if (copies(task, container, media.video, container.video) && copies(task, container, media.audio, container.audio))
    return copied(task, [...media.video, ...media.audio], time);
  const plan = planVideo(task, { container: videoAsItIs(task) });
  return { ...plan, warnings: [...(plan.warnings ?? []), encodedAnew('streams')] };
}

/** Removes the audio. @throws Failure `no_stream` if there is no audio, or nothing else */
export function planSilent(task: Task): Plan {
  const media = mediaOf(task.facts);
  const container = containerOf(task);
  if (media.audio.length === 0) throw conversionFailed('no_stream', { says: 'The video has no audio track to remove.' });
  if (copies(task, container, media.video, container.video)) return copied(task, media.video, timeline(task));
  const silent = { ...task, facts: { media: { ...media, audio: [] } }, options: { ...task.options, video_crf: NEAR_CRF } };
  const plan = planVideo(silent, { container: videoAsItIs(task) });
  return { ...plan, warnings: [...(plan.warnings ?? []), encodedAnew('picture')] };
}

function containerOf({ target, facts }: Task): VideoContainer {
  const container = VIDEO[target];
  if (container === undefined || mediaOf(facts).video.length === 0) throw conversionFailed('no_stream');
  return container;
}

/** Whether the target can contain all of these streams unchanged. */
const copies = ({ source, target }: Task, { takesBack }: VideoContainer, streams: readonly Common[], held: readonly string[]): boolean =>
  (takesBack && source === target) || streams.every(({ codec }) => held.includes(codec));

function copied(task: Task, streams: readonly Common[], time: ReturnType<typeof timeline>): Plan {
  const { target, output, facts } = task;
  const media = mediaOf(facts);
  const container = containerOf(task);
  const beside = besides(media, container);
  const sounds = streams.filter((stream) => media.audio.some(({ index }) => index === stream.index));
  const others = media.subtitles.length + media.covers.length + media.others - beside.length;
  return {
    warnings: [...time.warnings, ...dropped(others + media.video.length + sounds.length - streams.length)],
    steps: [
      command({
        task,
        // A copy begins at a key frame, and seeking finds one.
        timeline: { ...time, late: false },
        encode: [
          ...[...streams, ...beside].flatMap(map),
          '-c',
          'copy',
          ...tags(task.source, streams[0]?.index ?? 0, false),
          ...container.muxer,
        ],
        to: `${output}/out.${target}`,
      }),
    ],
  };
}

/** Subtitles, covers and attachments that the container can contain. */
const besides = ({ subtitles, covers, attachments }: MediaFacts, { subtitles: row, cover }: VideoContainer): readonly Common[] => [
  ...subtitles.filter(({ codec }) => row?.holds.includes(codec)),
  ...(cover ? covers : []),
  ...(row?.holds.includes('ass') ? attachments : []),
];

const map = ({ index }: Common): readonly string[] => ['-map', `0:${index}`];
