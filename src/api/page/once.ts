/** Computes a value from a catalog once, and keeps it with that catalog. A catalog is replaced, never changed. */
export function oncePerCatalog<Known extends object, Value>(tell: (catalog: Known) => Value): (catalog: Known) => Value {
  const told = new WeakMap<Known, Value>();
  return (catalog) => told.getOrInsertComputed(catalog, tell);
}
