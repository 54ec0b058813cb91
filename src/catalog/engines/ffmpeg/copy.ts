/** Parts of a recording, taken as they are: cut between packets, or without its sound. */
import { conversionFailed } from '../../../errors.ts';
import type { Plan, Task, Warning } from '../../engine.ts';
import { command, dropped, tags } from './command.ts';
import { AUDIO, VIDEO, type VideoContainer } from './containers.ts';
import { soundAsItIs, videoAsItIs } from './keep.ts';
import { planSound } from './sound.ts';
import { type Common, type MediaFacts, mediaOf } from './streams.ts';
import { timeline } from './timeline.ts';
import { planVideo } from './video.ts';

/** A near copy for what cannot be copied, as `video_crf` counts. */
const NEAR_CRF = 18;

const encodedAnew = (what: string): Warning => ({
  code: 'encoded_anew',
  message: `The target does not take the ${what} as it is: it was encoded anew.`,
});

/** A stretch of a sound: from packet to packet, some hundredths of a second. @throws Failure `no_stream` */
export function planSoundCopied(task: Task): Plan {
  const { source, target, output, facts } = task;
  const { audio, covers } = mediaOf(facts);
  const [container, stream] = [AUDIO[target], audio[0]];
  if (container === undefined || stream === undefined) throw conversionFailed('no_stream');
  if (container.counts || !(source === target || container.holds.includes(stream.codec))) {
    const plan = planSound(task, soundAsItIs(task));
    // What loses nothing is the same either way.
    return container.counts ? plan : { ...plan, warnings: [...(plan.warnings ?? []), encodedAnew('sound')] };
  }
  const time = timeline(task);
  const cover = container.cover ? covers.slice(0, 1) : [];
  return {
    warnings: [...time.warnings, ...dropped(audio.length - 1 + covers.length - cover.length)],
    steps: [
      command({
        task,
        timeline: time,
        // Ogg is sought by pages of a second: what lies before the start goes.
        encode: [...[stream, ...cover].flatMap(map), '-c', 'copy', '-copypriorss:a', '0', ...tags(false), ...container.muxer],
        to: `${output}/out.${target}`,
      }),
    ],
  };
}

/** A stretch of a video, which begins at the key frame before. @throws Failure `no_stream` */
export function planVideoCopied(task: Task): Plan {
  const media = mediaOf(task.facts);
  const time = timeline(task);
  const container = containerOf(task);
  if (copies(task, container, media.video, container.video) && copies(task, container, media.audio, container.audio))
    return copied(task, [...media.video, ...media.audio], time);
  const plan = planVideo(task, { container: videoAsItIs(task) });
  return { ...plan, warnings: [...(plan.warnings ?? []), encodedAnew('streams')] };
}

/** Everything but its sound. @throws Failure `no_stream` where there is no sound, or nothing else */
export function planSilent(task: Task): Plan {
  const media = mediaOf(task.facts);
  const container = containerOf(task);
  if (media.audio.length === 0) throw conversionFailed('no_stream', { says: 'The video has no sound that could be removed.' });
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

/** Whether the target takes all of these streams as they are. */
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
        // Packets are copied from a key frame on: a jump finds one.
        timeline: { ...time, late: false },
        encode: [...[...streams, ...beside].flatMap(map), '-c', 'copy', ...tags(false), ...container.muxer],
        to: `${output}/out.${target}`,
      }),
    ],
  };
}

/** Subtitles, covers and attached files that the container holds. */
const besides = ({ subtitles, covers, attachments }: MediaFacts, { subtitles: row, cover }: VideoContainer): readonly Common[] => [
  ...subtitles.filter(({ codec }) => row?.holds.includes(codec)),
  ...(cover ? covers : []),
  ...(row?.holds.includes('ass') ? attachments : []),
];

const map = ({ index }: Common): readonly string[] => ['-map', `0:${index}`];
