/** The files that `make e2e` sends. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { fixtures as documents } from '../kit/fixtures/documents/documents.ts';
import { fixtures as media } from '../kit/fixtures/media/media.ts';
import { program } from './cluster.ts';

export interface E2eFiles {
  /** Holds the others, and is removed at the end. */
  readonly folder: string;
  /** A JPEG of 3 megapixels. */
  readonly photo: Buffer<ArrayBuffer>;
  /** A PNG that takes some five seconds to become an AVIF. */
  readonly large: Buffer<ArrayBuffer>;
  readonly docx: string;
  readonly pdf: string;
  readonly video: string;
  /** Takes some ten seconds to convert. */
  readonly long: string;
}

export async function makeFiles(folder: string): Promise<E2eFiles> {
  const long = join(folder, 'long.mp4');
  const source = ['-f', 'lavfi', '-i', 'testsrc2=d=40:s=1280x720'];
  await program('ffmpeg', ['-v', 'error', ...source, '-c:v', 'libx264', '-preset', 'ultrafast', long]);
  const noise = (width: number, height: number) =>
    sharp({ create: { width, height, channels: 3, background: '#4a7', noise: { type: 'gaussian', mean: 128, sigma: 30 } } });
  const photo = await noise(2_000, 1_500).jpeg().toBuffer();
  const large = await noise(3_000, 2_000).png({ compressionLevel: 1 }).toBuffer();
  const made = async (make: ((name: string, folder: string) => Promise<string>) | undefined): Promise<string> => {
    if (make === undefined) throw new Error('a fixture is missing');
    return await make('e2e', folder);
  };
  return {
    folder,
    photo,
    large,
    docx: await made(documents['docx']),
    pdf: await made(documents['pdf']),
    video: await made(media['mp4']),
    long,
  };
}

export const blobOf = async (path: string, name: string) => [new Blob([await readFile(path)]), name] as const;
export const head = (bytes: Buffer, length: number): string => bytes.subarray(0, length).toString('latin1');
