/** Tiny files that every converter of their kind must be able to read: what engines are tried with. */

export interface KnownGood {
  /** Canonical id. */
  readonly format: string;
  readonly content: string;
  readonly encoding: 'utf8' | 'base64';
}

const text = (format: string, content: string): KnownGood => ({ format, content, encoding: 'utf8' });
const binary = (format: string, content: string): KnownGood => ({ format, content, encoding: 'base64' });

/** 4 × 4 px. */
export const PNG = binary(
  'png',
  'iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAIAAAAmkwkpAAAAKUlEQVR42g3HMQEAAAzCMIRVGGdFIXDLlyQSGxcTBIvjU6mt62cyOzcPp2MTQQYaK1UAAAAASUVORK5CYII=',
);
export const PPM = text('ppm', `P3\n4 4\n255\n${'64 96 128\n'.repeat(16)}`);
export const PBM = text('pbm', 'P1\n4 4\n0 1 1 0\n1 0 0 1\n1 0 0 1\n0 1 1 0\n');
/** 16 × 16 px: video encoders take no less. */
export const GIF = binary(
  'gif',
  'R0lGODlhEAAQAPAAAMMAPDwAwyH5BAAAAAAALAAAAAAQABAAAAIjhI+py+0PUzjTVHWzBaH27XGWN5Xm16UmiKacCsfyTNf2jRcAOw==',
);
/** 64 × 64 px, a single tile. */
export const HEIC = binary(
  'heic',
  'AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAUJtZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAAAA5waXRtAAAAAAABAAAAImlsb2MAAAAAREAAAQABAAAAAAFmAAEAAAAAAAAAGQAAACNpaW5mAAAAAAABAAAAFWluZmUCAAAAAAEAAGh2YzEAAAAAwmlwcnAAAACkaXBjbwAAAHhodmNDAQNwAAAAAAAAAAAAHvAA/P34+AAADwMgAAEAGEABDAH//wNwAAADAJAAAAMAAAMAHroCQCEAAQArQgEBA3AAAAMAkAAAAwAAAwAeoCCBBZbqSSmubgQEDAgAAAMACAAAAwAIQCIAAQAHRAHBcrAiQAAAABRpc3BlAAAAAAAAAEAAAABAAAAAEHBpeGkAAAAAAwgICAAAABZpcG1hAAAAAAAAAAEAAQOBAoMAAAAhbWRhdAAAABUoAa8FGP07Jaq/++G75O8NbePQhlg=',
);
/** 16 × 16 px, a part of them transparent. */
export const TRANSPARENT_HEIC = binary(
  'heic',
  'AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAvxtZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAAAA5waXRtAAAAAAACAAAAGGlkYXQAAAAAABAAEAAAAAAAEAAQAAAAYGlsb2MBAAAAREAABAABAAAAAAAAAyAAAQAAAAAAAAArAAIAAQAAAAAAAAABAAAAAAAAAAgAAwAAAAAAAANLAAEAAAAAAAAAJwAEAAEAAAAAAAAAAQAAAAgAAAAIAAAAYmlpbmYAAAAAAAQAAAAVaW5mZQIAAAEAAQAAaHZjMQAAAAAVaW5mZQIAAAAAAgAAZ3JpZAAAAAAVaW5mZQIAAAEAAwAAaHZjMQAAAAAVaW5mZQIAAAAABAAAZ3JpZAAAAAGxaXBycAAAAYRpcGNvAAAAdmh2Y0MBA3AAAAAAAAAAAAAe8AD8/fj4AAAPAyAAAQAYQAEMAf//A3AAAAMAkAAAAwAAAwAeugJAIQABACpCAQEDcAAAAwCQAAADAAADAB6gIIEFluqumubgQEDAgAAAAwCAAAADAIQiAAEABkQBwXPBiQAAABRpc3BlAAAAAAAAAEAAAABAAAAAFGlzcGUAAAAAAAAAEAAAABAAAAAQcGl4aQAAAAADCAgIAAAAcWh2Y0MBBAgAAAAAAAAAAAAe8AD8/Pj4AAAPAyAAAQAXQAEMAf//BAgAAAMAn/gAAAMAAB66AkAhAAEAJkIBAQQIAAADAJ/4AAADAAAewIIEFluqumubAgAAAwACAAADAAIQIgABAAZEAcFzwYkAAAAUaXNwZQAAAAAAAABAAAAAQAAAABRpc3BlAAAAAAAAABAAAAAQAAAADnBpeGkAAAAAAQgAAAAnYXV4QwAAAAB1cm46bXBlZzpoZXZjOjIwMTU6YXV4aWQ6MQAAAAAlaXBtYQAAAAAAAAAEAAECgQIAAgIDhAADAoUGAAQDB4iJAAAANmlyZWYAAAAAAAAADmRpbWcAAgABAAEAAAAOZGltZwAEAAEAAwAAAA5hdXhsAAQAAQACAAAAWm1kYXQAAAAnKAGvGSFgQkDvXaW//4jK/5iBf67W3ymSgKaXBNeImQsDgYCNkZ04AAAAIygBrjJCchzitBj+nUbJOXQb2yA0NoDrTpvYgJ+5p7yTIehg',
);
/** 4 × 4 px. */
export const JXL = binary(
  'jxl',
  '/woYEJBQXAgKAQAAaAAAOABYAFhKKDGOTUQKxgzICaBOEg4SBE/2BODDBKIBAOgAWXILAIAKlVHGDV7O9Xz5ocNi2sZ1hrbatrAkEUohiVSwcQABZZ54hlSSOAe97S6oZPvPRiJQMGMqBQ==',
);
export const SVG = text('svg', '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><circle cx="4" cy="4" r="3"/></svg>\n');
/** 75 ms of silence: 600 samples of 8 bits. */
export const WAV = binary('wav', `UklGRnwCAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YVgCAACA${'gICA'.repeat(199)}gIA=`);
/** One letter, in straight lines. */
export const TTF = binary(
  'ttf',
  'AAEAAAANAIAAAwBQRkZUTbBz9RQAAATMAAAAHEdERUYAKQAKAAAErAAAAB5PUy8yVaFfhgAAAVgAAABWY21hcACUA4AAAAHAAAABSmdhc3D//wADAAAEpAAAAAhnbHlm99FWagAAAxgAAAAcaGVhZC/P1dEAAADcAAAANmhoZWEFCwJdAAABFAAAACRobXR4BwgAZAAAAbAAAAAQbG9jYQAOAAAAAAMMAAAACm1heHAARwAHAAABOAAAACBuYW1lByHUkQAAAzQAAAFBcG9zdAArAAMAAAR4AAAAKgABAAAAAQAALFrAo18PPPUACwPoAAAAAOcsyRgAAAAA5yzJGABkAAAB9AK8AAAACAACAAAAAAAAAAEAAAK8AAAAWgJYAAAAAAH0AAEAAAAAAAAAAAAAAAAAAAAEAAEAAAAEAAQAAQAAAAAAAgAAAAEAAQAAAEAAAAAAAAAAAQJYAZAABQAIAooCvAAAAIwCigK8AAAB4AAxAQIAAAIABQkAAAAAAAAAAAABAAAAAAAAAAAAAAAAUGZFZABAAEEAQQMg/zgAWgK8AAAAAAABAAAAAAAAAlgAAAAAAAACWAAAAlgAZAAAAAMAAAADAAAAHAABAAAAAABEAAMAAQAAABwABAAoAAAABgAEAAEAAgAAAEH//wAAAAAAQf//AAD/wgABAAAAAAAAAAABBgAAAQAAAAAAAAABAgAAAAIAAAAAAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADgAAAAEAZAAAAfQCvAADAAAzESERZAGQArz9RAAAAAAAAAwAlgABAAAAAAABAAEABAABAAAAAAACAAcAFgABAAAAAAADAB4AXAABAAAAAAAEAAEAfwABAAAAAAAFAAsAmQABAAAAAAAGAAEAqQADAAEECQABAAIAAAADAAEECQACAA4ABgADAAEECQADADwAHgADAAEECQAEAAIAewADAAEECQAFABYAgQADAAEECQAGAAIApQBUAABUAABSAGUAZwB1AGwAYQByAABSZWd1bGFyAABGAG8AbgB0AEYAbwByAGcAZQAgADIALgAwACAAOgAgAFQAIAA6ACAAMgA1AC0AMQAxAC0AMgAwADIANgAARm9udEZvcmdlIDIuMCA6IFQgOiAyNS0xMS0yMDI2AABUAABUAABWAGUAcgBzAGkAbwBuACAAMQAuADAAAFZlcnNpb24gMS4wAABUAABUAAAAAAACAAAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAAAAAQAAAABAAIAJAAAAAAAAf//AAIAAQAAAAwAAAAWAAAAAgABAAMAAwABAAQAAAACAAAAAAAAAAEAAAAA4hpi4wAAAADnLMkYAAAAAOcsyRg=',
);
/** The same, with Adobe's outlines. */
export const WOFF2 = binary(
  'woff2',
  'd09GMk9UVE8AAAIEAAsAAAAABNgAAAG3AAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAADWE/RkZUTRwaHgZgAIJKATYCJAMIBAYFgkEHIBsNBACuBuyGeENALF5j2M3qTIeWhn06bSEe+h/Hd2fe+xATQ8SusxBZgvs66XSGzrqlgbJgXXPIejRtKCemZ2iSCxg/8w0I8utzvKFIEBCb7TjAbsAPlEsgAxpHszTgFHaepeUJBZ6kHnq6ze0X0fJZYBBBtGeoVUTkDkwKi/dSOdyZ9jjdXk631/enn4Zx2a5x6B5HoScBYVy5F4BZbES2d74f/BF/uvPHm9jp+DVOf7q9FQGPRvcPPF+6P+wtBu0YBCmsvyJRck9c0KA5T+UtnOHyeMCIJDW0AAgA2HK4OEJGVrZM//c18hYIoELTKCwoGPdsnAmM482BRlVIrPv/H17kfxiAaCSEhwecHAiOrEm/iMtf11Ze9FtHEF+6Qc1SgtoP9uUeIL4IAEDmHsg9RrAFEu0uChBCFSA1GcSAYlILA6pwEgMatLkiQKNwUxG1RUjmSJ0aUSxLoUpH0WDQf6RRumoH7IBtxqbOVvoO8AlYCWy2tXEa2wdTY8Sk0oEQKVkmh8JgUJjrTC68XozZOkzHZKo6hVRCZjqKYShnHEPe7dKDo7mcEEOCcddIhqpjoRVl6wEA',
);
/** One triangle. */
export const OBJ = text('obj', 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n');
/** One triangle. */
export const GLTF = text(
  'gltf',
  '{"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],"nodes":[{"mesh":0}],"meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"accessors":[{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3","min":[0,0,0],"max":[1,1,0]}],"bufferViews":[{"buffer":0,"byteLength":36}],"buffers":[{"byteLength":36,"uri":"data:application/octet-stream;base64,AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA"}]}',
);
export const HTML = text('html', '<!doctype html>\n<html><head><title>Trial</title></head><body><p>A known good file.</p></body></html>\n');
export const MD = text('md', '# Trial\n\nA *known good* file.\n');
/** A text document in one XML file (OpenDocument 1.3, part 3, 3.1.2). */
export const FODT = text(
  'fodt',
  `<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" office:version="1.3" office:mimetype="application/vnd.oasis.opendocument.text"><office:body><office:text><text:p>A known good file.</text:p></office:text></office:body></office:document>
`,
);
/** A page of an inch square with a line of text. */
export const PDF = page('BT /F 8 Tf 4 32 Td (A known good file) Tj ET');
/** The same without text: only OCR reads it. */
export const SCAN = page('8 32 24 4 re f');

/** A whole file, with a cross-reference table (ISO 32000-1, 7.5.4). @param drawing the content stream of its only page */
function page(drawing: string): KnownGood {
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    '<</Type/Pages/Kids[3 0 R]/Count 1>>',
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 72 72]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>',
    `<</Length ${drawing.length}>>stream\n${drawing}\nendstream`,
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
  ];
  let body = '%PDF-1.4\n';
  const offsets = objects.map((object, index) => {
    const offset = body.length;
    body += `${index + 1} 0 obj${object}endobj\n`;
    return `${String(offset).padStart(10, '0')} 00000 n \n`;
  });
  const size = objects.length + 1;
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${offsets.join('')}`;
  return text('pdf', `${body}${table}trailer<</Size ${size}/Root 1 0 R>>\nstartxref\n${body.length}\n%%EOF\n`);
}
/** One file of two bytes. */
export const TAR = binary(
  'tgz',
  'H4sIAAAAAAACA0vUK6koYaAtMAACMxMTMA0E6DQQGCGxQeJm5oZmDAoGDHQApcUliUVAKxlGJkjkYhgFo2AUjIJRMAIBAKHXT5gACAAA',
);
