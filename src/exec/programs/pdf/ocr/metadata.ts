/** What a file of ONNX says of itself, which ONNX Runtime's binding does not pass on (onnx.proto, ModelProto.metadata_props). */

/** Fields of ModelProto, and of StringStringEntryProto. */
const [METADATA, KEY, VALUE] = [14, 1, 2];
/** Ways in which a field is written. */
const [VARINT, FIXED64, BYTES, FIXED32] = [0, 1, 2, 5];

/** @returns texts by their names @throws RangeError for what is no such file */
export function metadataOf(model: Buffer): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { field, content } of fieldsOf(model)) {
    if (field !== METADATA) continue;
    const entry = new Map(fieldsOf(content).map((each) => [each.field, each.content.toString('utf8')]));
    found.set(entry.get(KEY) ?? '', entry.get(VALUE) ?? '');
  }
  return found;
}

/** Fields that have a length; others are passed over. */
function fieldsOf(message: Buffer): readonly { readonly field: number; readonly content: Buffer }[] {
  const fields: { field: number; content: Buffer }[] = [];
  let at = 0;
  const varint = (): number => {
    for (let value = 0, scale = 1; at < message.length; scale *= 128) {
      const byte = message[at++] as number;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    throw new RangeError('expected a message of protobuf');
  };
  while (at < message.length) {
    const tag = varint();
    const [field, way] = [Math.floor(tag / 8), tag % 8];
    if (way === VARINT) varint();
    else if (way === FIXED64 || way === FIXED32) at += way === FIXED64 ? 8 : 4;
    else if (way === BYTES) {
      const length = varint();
      fields.push({ field, content: message.subarray(at, at + length) });
      at += length;
    } else throw new RangeError('expected a message of protobuf');
  }
  return fields;
}
