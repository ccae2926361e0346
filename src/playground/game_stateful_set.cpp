#include "playground/game_stateful_set.h"

namespace berth::playground {

// Only what kubectl and `sim/workloads` need is spelled out; every other field is taken as it
// comes.
const std::string_view kGameStatefulSetDefinition = R"yaml(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gamestatefulsets.tkex.tencent.com
spec:
  group: tkex.tencent.com
  scope: Namespaced
  names:
    kind: GameStatefulSet
    listKind: GameStatefulSetList
    plural: gamestatefulsets
    singular: gamestatefulset
    shortNames: [gsts]
  versions:
    - name: v1alpha1
      served: true
      storage: true
      subresources:
        status: {}
        scale:
          specReplicasPath: .spec.replicas
          statusReplicasPath: .status.replicas
      additionalPrinterColumns:
        - name: Replicas
          type: integer
          jsonPath: .spec.replicas
        - name: Ready_Replicas
          type: integer
          jsonPath: .status.readyReplicas
        - name: Updated_Replicas
          type: integer
          jsonPath: .status.updatedReplicas
        - name: Age
          type: date
          jsonPath: .metadata.creationTimestamp
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              x-kubernetes-preserve-unknown-fields: true
              required: [selector, template]
              properties:
                replicas:
                  type: integer
                  format: int32
                  minimum: 0
                  default: 1
                podManagementPolicy:
                  type: string
                  enum: [OrderedReady, Parallel]
                  default: Parallel
                selector:
                  type: object
                  x-kubernetes-preserve-unknown-fields: true
                template:
                  type: object
                  x-kubernetes-preserve-unknown-fields: true
                updateStrategy:
                  type: object
                  x-kubernetes-preserve-unknown-fields: true
            status:
              type: object
              x-kubernetes-preserve-unknown-fields: true
)yaml";

}  // namespace berth::playground
