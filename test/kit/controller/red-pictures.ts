/** Pictures that are known by how red they are: one that comes back in another's place is not taken for it. */
import sharp from 'sharp';
import type { Answer } from '../roles/service.ts';

/** What JPEG may change of it. */
const TOLERANCE = 6;

/** @param red 0 to 255 @returns PNG */
export const redPicture = (red: number): Promise<Buffer> =>
  sharp({ create: { width: 80, height: 60, channels: 3, background: { r: red, g: 90, b: 30 } } })
    .png()
    .toBuffer();

/** @param url of a replica @throws where the job has no such picture for its output */
export async function expectRed(url: string, { data, error }: Answer, red: number): Promise<void> {
  if (data?.output === undefined) throw new Error(`the job has no output: ${data?.status} ${JSON.stringify(error)}`);
  // Its links are made for another port than the test's.
  const output = Buffer.from(await (await fetch(url + new URL(data.output.url).pathname)).arrayBuffer());
  const [{ width, height }, { channels }] = await Promise.all([sharp(output).metadata(), sharp(output).stats()]);
  const found = channels[0]?.mean ?? Number.NaN;
  if (width !== 80 || height !== 60 || !(Math.abs(found - red) < TOLERANCE))
    throw new Error(`${width}x${height} with ${found} of red, where 80x60 with ${red} was sent`);
}
