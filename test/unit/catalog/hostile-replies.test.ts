/** What a picture's process may claim of the picture, once that has taken it over: none of it costs the service more than an honest reply. */
import { expect, it } from 'vitest';
import { conversationAbout } from '../../../src/catalog/engines/pictures/libvips/convert.ts';

const REQUEST = {
  ...{ input: '/job/input', source: 'png', output: '/job/output/x.png', target: 'png' },
  ...{ quality: 80, background: '#ffffff', strip: true, resize: { w: 10, h: 20 }, fit: 'contain' as const },
};
const claim = (bands: number) => `ok width=100 height=100 bands=${bands} format=uchar space=srgb alpha=1 sequential=0 page=100`;

it('ends the conversation when a picture claims to have millions of bands', () => {
  const conversation = conversationAbout(REQUEST);
  const told: string[] = [];
  for (let said = conversation.next(); ; said = conversation.next(claim(told.length === 1 ? 4 : 5_000_000))) {
    if (said.done) {
      expect(said.value).toMatchObject({ ok: false, reason: 'corrupt_input' });
      break;
    }
    told.push(said.value);
  }
  expect(told.length).toBeGreaterThan(1);
  for (const line of told) expect(line.length).toBeLessThan(1000);
});
