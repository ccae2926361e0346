// Memory for simulated lives. JSON in memory is many small pieces, and a life makes and drops tens
// of millions of them on one thread: taking each from a list of its size costs a few instructions,
// where the C library's heap takes a sixth of a life.
#pragma once

namespace berth::scenario {

// As long as one is there, `new` on this thread takes small pieces from those lists. Pieces may
// outlive it and end on any thread. Under sanitizers it does nothing: they watch the heap.
class SmallPieces {
 public:
  SmallPieces();
  ~SmallPieces();
  SmallPieces(const SmallPieces&) = delete;
  SmallPieces& operator=(const SmallPieces&) = delete;
};

}  // namespace berth::scenario
