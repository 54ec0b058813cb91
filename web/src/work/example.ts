/** Files to try a tool with. The browser makes them: nothing is fetched for them. */

export type ExampleKind = 'picture' | 'text' | 'jpg' | 'webp' | 'gif' | 'pdf' | 'sound' | 'video';

/** @param count of files @throws where this browser cannot make such a file */
export async function exampleFiles(kind: ExampleKind, count: number): Promise<readonly File[]> {
  const files: File[] = [];
  for (let number = 1; number <= count; number++) files.push(await exampleFile(kind, count > 1 ? ` ${number}` : '', number));
  return files;
}

const [WIDTH, HEIGHT] = [640, 420] as const;

async function exampleFile(kind: ExampleKind, end: string, number: number): Promise<File> {
  const name = `example${end}`;
  switch (kind) {
    case 'pdf':
      return new File([pdf(number)], `${name}.pdf`, { type: 'application/pdf' });
    case 'sound':
      return new File([sound()], `${name}.wav`, { type: 'audio/wav' });
    case 'gif':
      return new File([gif()], `${name}.gif`, { type: 'image/gif' });
    case 'video':
      return video(name, number);
    case 'text':
      return still(name, 'image/png', drawText);
    case 'picture':
      return still(name, 'image/png', drawLandscape);
    default:
      return still(name, kind === 'jpg' ? 'image/jpeg' : 'image/webp', drawLandscape);
  }
}

// ---- pictures ----

type Draw = (brush: CanvasRenderingContext2D, moment: number) => void;

function canvasOf(width: number, height: number): [HTMLCanvasElement, CanvasRenderingContext2D] {
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  const brush = canvas.getContext('2d');
  if (brush === null) throw new Error('no canvas');
  return [canvas, brush];
}

async function still(name: string, type: string, draw: Draw): Promise<File> {
  const [canvas, brush] = canvasOf(WIDTH, HEIGHT);
  draw(brush, 0);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, type, 0.95));
  // A browser that lacks an encoder writes a PNG.
  if (blob === null || blob.type !== type) throw new Error(`no encoder for ${type}`);
  return new File([blob], `${name}.${type === 'image/jpeg' ? 'jpg' : type.slice('image/'.length)}`, { type });
}

/** A sun over hills, with a balloon that rises. @param moment 0 to 1 */
function drawLandscape(brush: CanvasRenderingContext2D, moment: number): void {
  const sky = brush.createLinearGradient(0, 0, 0, HEIGHT);
  sky.addColorStop(0, '#7fb4e6');
  sky.addColorStop(1, '#fbe3c0');
  brush.fillStyle = sky;
  brush.fillRect(0, 0, WIDTH, HEIGHT);
  disc(brush, 500, 110, 46, '#ffd34d');
  for (const [at, high, colour] of [
    [120, 210, '#6f9f6a'],
    [430, 170, '#4f8559'],
    [260, 120, '#2f6b4a'],
  ] as const) {
    brush.fillStyle = colour;
    brush.beginPath();
    brush.ellipse(at, HEIGHT, 330, high, 0, Math.PI, 0);
    brush.fill();
  }
  disc(brush, 210, 170 - 90 * moment, 44, '#d2453f');
  brush.fillStyle = '#7a4a2b';
  brush.fillRect(198, 232 - 90 * moment, 24, 18);
}

function disc(brush: CanvasRenderingContext2D, x: number, y: number, radius: number, colour: string): void {
  brush.fillStyle = colour;
  brush.beginPath();
  brush.arc(x, y, radius, 0, 2 * Math.PI);
  brush.fill();
}

function drawText(brush: CanvasRenderingContext2D): void {
  brush.fillStyle = '#ffffff';
  brush.fillRect(0, 0, WIDTH, HEIGHT);
  brush.fillStyle = '#111111';
  brush.font = '32px serif';
  for (const [row, text] of ['The quick brown fox', 'jumps over the lazy dog.', 'Invoice 2041, paid in March.'].entries())
    brush.fillText(text, 60, 120 + row * 70);
}

/** GIF89a of ten frames. With 127 codes between two clear codes, each code has 8 bits: nothing is compressed, which leaves something to do. */
function gif(): Uint8Array<ArrayBuffer> {
  const [width, height, frames] = [WIDTH / 4, HEIGHT / 4, 10];
  const [, brush] = canvasOf(width, height);
  brush.scale(1 / 4, 1 / 4);
  const word = (value: number) => [value & 255, value >> 8];
  // Four reds, eight greens, four blues.
  const palette = Array.from({ length: 128 }, (_, at) => [(at >> 5) * 85, Math.round((((at >> 2) & 7) * 255) / 7), (at & 3) * 85]).flat();
  const bytes = [...letters('GIF89a'), ...word(width), ...word(height), 0xf6, 0, 0, ...palette];
  bytes.push(0x21, 0xff, 11, ...letters('NETSCAPE2.0'), 3, 1, 0, 0, 0);
  for (let frame = 0; frame < frames; frame++) {
    drawLandscape(brush, frame / frames);
    const { data } = brush.getImageData(0, 0, width, height);
    bytes.push(0x21, 0xf9, 4, 0, ...word(10), 0, 0, 0x2c, 0, 0, 0, 0, ...word(width), ...word(height), 0, 7);
    const codes: number[] = [];
    for (let at = 0; at < width * height; at++) {
      if (at % 126 === 0) codes.push(128);
      const [red = 0, green = 0, blue = 0] = data.subarray(at * 4, at * 4 + 3);
      codes.push(((red >> 6) << 5) | ((green >> 5) << 2) | (blue >> 6));
    }
    codes.push(129);
    for (let at = 0; at < codes.length; at += 255) {
      const block = codes.slice(at, at + 255);
      bytes.push(block.length, ...block);
    }
    bytes.push(0);
  }
  bytes.push(0x3b);
  return Uint8Array.from(bytes);
}

const letters = (text: string): number[] => [...text].map((letter) => letter.charCodeAt(0));

// ---- documents ----

/** PDF 1.4 of three pages, each with a title and some lines. */
function pdf(number: number): string {
  const pages = [1, 2, 3].map((page) => {
    const lines = Array.from({ length: 12 }, (_, line) => `0 -26 Td (Line ${line + 1} of page ${page}) Tj`);
    return `BT /F 28 Tf 72 740 Td (Example ${number}, page ${page}) Tj /F 14 Tf 0 -20 Td ${lines.join(' ')} ET`;
  });
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Count 3 /Kids [${pages.map((_, at) => `${4 + at * 2} 0 R`).join(' ')}] >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...pages.flatMap((content, at) => [
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F 3 0 R >> >> /Contents ${5 + at * 2} 0 R >>`,
      `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    ]),
  ];
  let text = '%PDF-1.4\n';
  const places = objects.map((object, at) => {
    const place = text.length;
    text += `${at + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(place).padStart(10, '0')} 00000 n \n`;
  });
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${places.join('')}`;
  return `${text}${table}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF\n`;
}

// ---- sound and video ----

const [RATE, SECONDS] = [22_050, 4] as const;

/** A melody in the middle, a low note on the left, and a little noise: WAVE of 16 bits, in two channels. */
function sound(): ArrayBuffer {
  const count = RATE * SECONDS;
  const view = new DataView(new ArrayBuffer(44 + count * 4));
  const put = (at: number, text: string) => {
    for (const [place, letter] of letters(text).entries()) view.setUint8(at + place, letter);
  };
  put(0, 'RIFF');
  view.setUint32(4, 36 + count * 4, true);
  put(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 2, true);
  view.setUint32(24, RATE, true);
  view.setUint32(28, RATE * 4, true);
  view.setUint16(32, 4, true);
  view.setUint16(34, 16, true);
  put(36, 'data');
  view.setUint32(40, count * 4, true);
  const notes = [262, 330, 392, 523, 392, 330, 294, 262];
  for (let at = 0; at < count; at++) {
    const seconds = at / RATE;
    const note = Math.sin(2 * Math.PI * (notes[Math.floor(seconds * 2)] ?? 262) * seconds) * (1 - ((seconds * 2) % 1) * 0.8);
    const noise = Math.random() - 0.5;
    view.setInt16(44 + at * 4, 9_000 * note + 4_000 * Math.sin(2 * Math.PI * 131 * seconds) + 900 * noise, true);
    view.setInt16(46 + at * 4, 9_000 * note + 900 * noise, true);
  }
  return view.buffer as ArrayBuffer;
}

const VIDEO_MS = 2_000;

/** Recorded from a canvas while it is drawn, with a note: it takes as long as it plays. */
async function video(name: string, number: number): Promise<File> {
  const [canvas, brush] = canvasOf(WIDTH, HEIGHT);
  const audio = new AudioContext();
  try {
    const speaker = audio.createMediaStreamDestination();
    const tone = audio.createOscillator();
    tone.frequency.value = 220 * (number + 1);
    tone.connect(speaker);
    tone.start();
    const stream = new MediaStream([...canvas.captureStream(25).getTracks(), ...speaker.stream.getTracks()]);
    const type = ['video/webm', 'video/mp4'].find((each) => MediaRecorder.isTypeSupported(each));
    if (type === undefined) throw new Error('no recorder');
    const recorder = new MediaRecorder(stream, { mimeType: type });
    const parts: Blob[] = [];
    recorder.ondataavailable = ({ data }) => parts.push(data);
    const stopped = new Promise<void>((resolve, reject) => {
      recorder.onstop = () => resolve();
      recorder.onerror = () => reject(new Error('the recorder failed'));
    });
    recorder.start();
    const began = performance.now();
    // Not by animation frames, which a page in the background does not get.
    const clock = setInterval(() => drawLandscape(brush, ((performance.now() - began) / VIDEO_MS) % 1), 40);
    setTimeout(() => recorder.stop(), VIDEO_MS);
    await stopped;
    clearInterval(clock);
    for (const track of stream.getTracks()) track.stop();
    return new File(parts, `${name}.${type.slice('video/'.length)}`, { type });
  } finally {
    void audio.close();
  }
}
