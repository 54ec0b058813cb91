/** Headers of WAV files (RIFF, Microsoft's "Multimedia Programming Interface and Data Specifications 1.0"). */

export interface Wave {
  /** The size of the samples, as the header says it. */
  readonly dataBytes: number;
  readonly channels?: number;
  /** Hz */
  readonly rate?: number;
  readonly bits?: number;
  /** 1: PCM */
  readonly codec?: number;
}

/** The 44 bytes before the samples. Values that do not fit are cut to what the fields hold. */
export function waveHead({ dataBytes, channels = 1, rate = 44_100, bits = 16, codec = 1 }: Wave): Buffer {
  const frameBytes = channels * (bits / 8);
  const head = Buffer.alloc(44);
  head.write('RIFF\0\0\0\0WAVEfmt ', 'latin1');
  head.writeUInt32LE(Math.min(0xffff_ffff, 36 + dataBytes), 4);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(codec, 20);
  head.writeUInt16LE(channels, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE((rate * frameBytes) >>> 0, 28);
  head.writeUInt16LE(frameBytes & 0xffff, 32);
  head.writeUInt16LE(bits, 34);
  head.write('data', 36);
  head.writeUInt32LE(dataBytes, 40);
  return head;
}
