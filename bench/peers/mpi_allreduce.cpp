// Open MPI's all-reduce: for each size of argv, the time of one, as a line of JSON; called by allreduce.py.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

double run(std::vector<float>& values, int times) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < times; ++i)
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  double took = (MPI_Wtime() - begin) / times, slowest = 0;
  MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

} // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const double seconds = std::atof(argv[1]);
  for (int a = 2; a < argc; ++a) {
    const std::size_t bytes = std::strtoull(argv[a], nullptr, 10);
    std::vector<float> values(bytes / sizeof(float), 0.0F);
    run(values, 1);
    int times = static_cast<int>(std::clamp(seconds / run(values, 3), 3.0, 100000.0));
    MPI_Bcast(&times, 1, MPI_INT, 0, MPI_COMM_WORLD);
    const double one = run(values, times);
    if (rank == 0) std::printf("{\"bytes\": %zu, \"us\": %.3f}\n", bytes, one * 1e6);
    std::fflush(stdout);
  }
  MPI_Finalize();
}
