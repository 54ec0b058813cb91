/** Colours of a glTF between linear light, which the format has, and sRGB, which other formats have (IEC 61966-2-1). */
import { type Accessor, elementBytes, type GltfFile } from './container.ts';

const toLinear = (value: number): number => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const toSrgb = (value: number): number => (value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055);

const FLOAT = 5126;
const BYTE = 5121;
const SHORT = 5123;

/** Changes factors of materials and the colours of vertices in place; alpha stays. */
export function recolour({ json, buffers }: GltfFile, space: 'linear' | 'srgb'): void {
  const convert = space === 'linear' ? toLinear : toSrgb;
  const factors = (values: readonly number[]) => values.map((value, at) => (at < 3 ? convert(value) : value));
  for (const material of json.materials ?? []) {
    const { pbrMetallicRoughness: pbr, emissiveFactor, extensions } = material;
    const glossy = extensions?.KHR_materials_pbrSpecularGlossiness;
    if (glossy?.diffuseFactor !== undefined) glossy.diffuseFactor = factors(glossy.diffuseFactor);
    if (glossy?.specularFactor !== undefined) glossy.specularFactor = factors(glossy.specularFactor);
    if (pbr?.baseColorFactor !== undefined) pbr.baseColorFactor = factors(pbr.baseColorFactor);
    if (emissiveFactor !== undefined) material.emissiveFactor = factors(emissiveFactor);
  }
  const coloured = (json.meshes ?? []).flatMap(({ primitives = [] }) =>
    primitives.flatMap(({ attributes }) => attributes?.['COLOR_0'] ?? []),
  );
  const done = new Set<string>();
  for (const index of new Set(coloured)) {
    const accessor = json.accessors?.[index];
    const view = json.bufferViews?.[accessor?.bufferView ?? -1];
    const bytes = buffers[view?.buffer ?? -1];
    if (accessor === undefined || view === undefined || bytes === undefined || !/^VEC[34]$/.test(accessor.type)) continue;
    // If accessors share a view, each byte is converted once.
    const place = `${view.buffer} ${view.byteOffset} ${accessor.byteOffset}`;
    if (done.has(place)) continue;
    done.add(place);
    const from = (view.byteOffset ?? 0) + (accessor.byteOffset ?? 0);
    for (let at = 0; at < accessor.count; at++)
      recolourOne(bytes, from + at * (view.byteStride ?? elementBytes(accessor)), accessor, convert);
  }
}

function recolourOne(bytes: Buffer, at: number, { componentType }: Accessor, convert: (value: number) => number): void {
  for (let column = 0; column < 3; column++) {
    if (componentType === FLOAT) bytes.writeFloatLE(convert(bytes.readFloatLE(at + column * 4)), at + column * 4);
    else if (componentType === BYTE) bytes[at + column] = Math.round(convert((bytes[at + column] ?? 0) / 255) * 255);
    else if (componentType === SHORT)
      bytes.writeUInt16LE(Math.round(convert(bytes.readUInt16LE(at + column * 2) / 65_535) * 65_535), at + column * 2);
  }
}
