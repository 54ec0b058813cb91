/** The receipt of a conversion: what its source had, and what of it the result has. */
import type { PropertyVerdict } from '../../contracts/api/job.ts';
import type { Facts } from '../engine.ts';
import { AUDIO, VIDEO } from '../engines/media/ffmpeg/containers.ts';
import type { MediaFacts } from '../engines/media/ffmpeg/streams.ts';
import type { Options } from '../options/options.ts';
import { pictureOf } from '../planning/headers/picture.ts';
import { compare } from './fidelity.ts';
import { pictureProperties } from './picture.ts';
import { filmReceipt, soundReceipt } from './recording.ts';

/**
 * @param source what the judge and the engine found in the source, and `result` in the result @param target its format
 * @returns undefined where not both are of a kind that is measured: a page that becomes a picture has no properties in common with it
 */
export function receiptOf(source: Facts, result: Facts, options: Options, target: string): readonly PropertyVerdict[] | undefined {
  const [picture, made] = [pictureOf(source), pictureOf(result)];
  if (picture !== undefined && made !== undefined) return compare(pictureProperties, picture, made, options, target);
  const [recording, media] = [recordingOf(source), recordingOf(result)];
  if (recording === undefined || media === undefined) return undefined;
  if (target in AUDIO) return compare(soundReceipt, ofTrack(recording, options.track), media, options, target);
  return target in VIDEO ? compare(filmReceipt, recording, media, options, target) : undefined;
}

const recordingOf = (facts: Facts) => facts['media'] as MediaFacts | undefined;

/** With the track that was asked for in the first place. */
const ofTrack = (recording: MediaFacts, track = 1): MediaFacts => ({ ...recording, audio: recording.audio.slice(track - 1) });

/** Those that differ, and that no option explains, in a sentence; undefined: there are none. */
export function sentenceOf(verdicts: readonly PropertyVerdict[], outcome: 'lost' | 'adapted'): string | undefined {
  const those = verdicts.filter((verdict) => verdict.outcome === outcome);
  if (those.length === 0) return undefined;
  return those
    .map(({ property, source, result }) => `${property.replaceAll('_', ' ')} (${source}${result === undefined ? '' : ` → ${result}`})`)
    .join(', ');
}
