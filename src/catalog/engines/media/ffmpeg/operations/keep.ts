/** Re-encodes a recording in its own codecs, so that trimming does not change its format. */
import type { Task } from '../../../../engine.ts';
import { AUDIO, type AudioContainer, VIDEO, type VideoContainer } from '../containers.ts';
import { encoderOfPicture, encoderOfSound, LEAST_SIDES, type VideoEncoderId } from '../encoders.ts';
import { mediaOf } from '../streams.ts';

/** The container with the encoder of the recording's audio codec. */
export function soundAsItIs({ target, options, facts }: Task): AudioContainer | undefined {
  const container = AUDIO[target];
  const codec = mediaOf(facts).audio[(options.track ?? 1) - 1]?.codec ?? '';
  const encode = encoderOfSound(codec);
  return container === undefined || encode === undefined || !container.holds.includes(codec) ? container : { ...container, encode };
}

/** The container with the encoders of the recording's video codec, listed first, and of its first audio codec. */
export function videoAsItIs({ target, facts }: Task): VideoContainer | undefined {
  const container = VIDEO[target];
  const { video, audio } = mediaOf(facts);
  if (container === undefined) return undefined;
  const [picture, sound] = [video[0], audio[0]?.codec ?? ''];
  const again = picture && encoderOfPicture(picture.codec);
  const fits = again !== undefined && container.encoders.includes(again) && picture !== undefined && reaches(again, picture);
  const encode = container.audio.includes(sound) ? encoderOfSound(sound) : undefined;
  return {
    ...container,
    ...(fits && again !== container.encoders[0] ? { encoders: [again, ...container.encoders], encode: [] } : {}),
    ...(encode === undefined ? {} : { sound: encode }),
  };
}

const reaches = (id: VideoEncoderId, { width, height }: { readonly width: number; readonly height: number }): boolean =>
  Math.min(width, height) >= (LEAST_SIDES[id] ?? 2);
