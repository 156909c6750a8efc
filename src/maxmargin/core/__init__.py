"""What everything rests on: compiling, dispatch, the contract, and the problem that solvers see."""
