package podgc

import v1 "k8s.io/api/core/v1"

// The one function of the kubelet's package `eviction` that this controller calls: the package has most of a kubelet compiled.
type kubeletEviction struct{}

var eviction kubeletEviction

func (kubeletEviction) PodIsEvicted(status v1.PodStatus) bool {
	return status.Phase == v1.PodFailed && status.Reason == "Evicted"
}
