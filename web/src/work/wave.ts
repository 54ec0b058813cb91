/** How loud a recording is along its time, decoded by the browser: drawn behind the range that is chosen. */

/** Samples a second: enough to see words and beats. Browsers decode to no fewer. */
const RATE = 8000;
/** Decoded as a whole: 4 bytes a sample, for each channel. */
const [MOST_SECONDS, MOST_BYTES] = [1800, 100_000_000] as const;
/** Samples between two turns of the page. */
const SLICE = 2_000_000;

/** @param seconds of the whole recording @returns undefined where it is too long @throws where the browser cannot decode it, or the file is gone */
export async function soundOf(file: File, seconds: number): Promise<AudioBuffer | undefined> {
  if (seconds > MOST_SECONDS || file.size > MOST_BYTES) return undefined;
  return new OfflineAudioContext(1, 1, RATE).decodeAudioData(await file.arrayBuffer());
}

/** @returns the loudest sample of each of `count` equal parts, 0 to 1, the loudest of all being 1; undefined where there is no sound */
export async function peaksOf(audio: AudioBuffer, seconds: number, count: number, cancel: AbortSignal): Promise<Float32Array | undefined> {
  const channels = Array.from({ length: Math.min(2, audio.numberOfChannels) }, (_, channel) => audio.getChannelData(channel));
  const peaks = new Float32Array(count);
  // A video may go on after its sound.
  const perPart = (seconds * audio.sampleRate) / count;
  for (let from = 0; from < audio.length; from += SLICE) {
    await new Promise((resolve) => setTimeout(resolve));
    if (cancel.aborted) return undefined;
    const until = Math.min(audio.length, from + SLICE);
    for (const samples of channels)
      for (let at = from; at < until; at++) {
        const part = Math.min(count - 1, Math.floor(at / perPart));
        const level = Math.abs(samples[at] ?? 0);
        if (level > (peaks[part] ?? 0)) peaks[part] = level;
      }
  }
  const loudest = peaks.reduce((most, level) => Math.max(most, level), 0);
  return loudest === 0 ? undefined : peaks.map((level) => level / loudest);
}
