/** What a 3D model has that its result should have too, and which formats can contain it. */
import type { Options } from '../options/options.ts';
import type { ModelFacts } from '../planning/contents/others/model.ts';
import { among, counted } from './counted.ts';
import type { FidelityProperty } from './fidelity.ts';

type ModelProperty = FidelityProperty<ModelFacts, Options>;

export const modelProperties: readonly ModelProperty[] = [
  counted({ name: 'triangles', count: ({ triangles }) => triangles, fits: () => true }),
  counted({ name: 'textures', count: ({ textures }) => textures, fits: among('gltf glb dae') }),
  {
    ...counted<ModelFacts, Options>({ name: 'animations', count: ({ animations }) => animations, fits: among('gltf glb dae') }),
    // One may be written as several, and several as one.
    unsure: (_, { animations }) => animations !== 0,
  },
  {
    name: 'unit',
    show: ({ unit }) => unit || undefined,
    // The size in another unit may be the same.
    unsure: (_, { unit }) => unit !== '',
    fits: among('gltf glb dae 3mf'),
  },
];

/** Has all that a model may have. */
export const RICH_MODEL: ModelFacts = { triangles: 1, textures: 1, animations: 1, unit: 'meter' };
